import HaulCore

/// What becomes of a download when the task that waits for it is cancelled.
public enum CancelBehavior: Sendable, Hashable, CaseIterable {
  /// It is paused: the bytes are kept, and `resume` goes on from them.
  case pause
  /// It is cancelled: its bytes are taken away.
  case cancel
  /// It goes on without the task.
  case detach
}

extension Transfer {
  /// Carries out what a cancelled task wanted; gives the result of what was completed before.
  func leave(
    _ behavior: CancelBehavior
  ) async throws(TransferError) -> TransferResult {
    // Commands wait for what they stop, and in a cancelled task nothing waits: hence another.
    let outcome: Result<TransferResult, TransferError> = await Task {
      () async -> Result<TransferResult, TransferError> in
      do throws(TransferError) {
        switch behavior {
        case .pause: _ = try await manager.pause([id])
        case .cancel: _ = try await manager.cancel([id])
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
    case .pause: TransferError(.interrupted, "it is paused, as its task was cancelled")
    case .cancel: TransferError(.cancelled, "it was cancelled, as its task was")
    case .detach: TransferError(.interrupted, "it goes on, and its task was cancelled")
    }
  }
}
