import HaulCore

/// What happens to a download when the task that waits for it is cancelled.
public enum CancelBehavior: Sendable, Hashable, CaseIterable {
  /// It is paused: its bytes are kept, and `resume` continues from them.
  case pause
  /// It is cancelled: its bytes are deleted.
  case cancel
  /// It continues without the task.
  case detach
}

extension Transfer {
  /// Waits for its end; see `TransferManager.download`.
  nonisolated(nonsending) func follow(
    _ progress: (TransferProgress) -> Void, onCancel behavior: CancelBehavior
  ) async throws(TransferError) -> TransferResult {
    let (events, coordinator) = (events(), manager.coordinator)
    if let result = await coordinator.blocked(id) { return try result.orThrowError }
    for await event in events {
      switch event.kind {
      case .progress(let reported): progress(reported)
      case .finished(let result): return try result.orThrowError
      case .waiting:
        if let result = await coordinator.blocked(id) { return try result.orThrowError }
      default: break
      }
    }
    guard Task.isCancelled else { throw await coordinator.waitInterruptedError("the transfer") }
    return try await apply(behavior)
  }

  /// Applies the behavior of a cancelled task; returns the result if it was completed before.
  private func apply(
    _ behavior: CancelBehavior
  ) async throws(TransferError) -> TransferResult {
    // Commands wait for what they stop, which a cancelled task cannot do: another task waits.
    let outcome: Result<TransferResult, TransferError> = await Task {
      () async -> Result<TransferResult, TransferError> in
      do throws(TransferError) {
        switch behavior {
        case .pause: _ = try await manager.pause(self)
        case .cancel: _ = try await manager.cancel(self)
        case .detach: break
        }
        guard let state = await summary?.state, state.isEnded else {
          return .failure(behavior.error)
        }
        return .success(try await result)
      } catch {
        return .failure(error)
      }
    }.value
    return try outcome.get()
  }
}

extension CancelBehavior {
  fileprivate var error: TransferError {
    switch self {
    case .pause: TransferError(.interrupted, "paused because its task was cancelled")
    case .cancel: TransferError(.cancelled, "cancelled because its task was cancelled")
    case .detach:
      TransferError(.interrupted, "its task was cancelled", advice: "the transfer continues")
    }
  }
}
