public import HaulCore

/// What becomes of a download when the task that waits for it is cancelled.
public enum CancelBehavior: Sendable, Hashable, CaseIterable {
  /// It is paused: the bytes are kept, and `resume` goes on from them.
  case pause
  /// It is cancelled: its bytes are taken away.
  case cancel
  /// It goes on without the task.
  case detach
}

extension TransferManager {
  /// Downloads, and returns when the file is there: a call that lives in the caller's task.
  ///
  /// It is a member of the queue as every other: it waits for a slot, and can be paused and resumed by id meanwhile. When the
  /// task is cancelled, what `behavior` says has been carried out by the time that this throws; a download that was
  /// completed by then is returned.
  /// - Parameters:
  ///   - request: a download to a file.
  ///   - behavior: what becomes of it when the task is cancelled.
  ///   - progress: called in the caller's isolation: how far it is, newest only; all of it once, before this returns.
  /// - Throws: why it failed; `cancelled` when it was cancelled, by whomever; `dependency-failed` when a transfer that it waits
  ///   for was not completed (it stays in the list); `interrupted` when the task was cancelled and it was paused or goes on, or
  ///   the manager was shut down; as `add`.
  @discardableResult
  public nonisolated(nonsending) func download(
    _ request: TransferRequest, onCancel behavior: CancelBehavior = .pause,
    progress: (Progress) -> Void = { _ in }
  ) async throws(TransferError) -> TransferResult {
    guard !Task.isCancelled else {
      throw TransferError(.cancelled, "the task was cancelled before the download was added")
    }
    guard request.download?.destination != .stream else {
      throw TransferError(.internal, "a stream is added, and read with bytes(of:)")
    }
    let transfer = try await add(request)
    let events = transfer.events()
    if let result = await transfer.queue.blocked(transfer.id) { return try result.orItsError }
    for await event in events {
      switch event.kind {
      case .progress(let told): progress(told)
      case .finished(let result): return try result.orItsError
      case .waiting:
        if let result = await transfer.queue.blocked(transfer.id) { return try result.orItsError }
      default: break
      }
    }
    guard Task.isCancelled else {
      throw TransferError(.interrupted, "it was not waited for until its end")
    }
    return try await transfer.leave(behavior)
  }

  /// Downloads an address to a place; as `download(_:onCancel:progress:)`.
  /// - Throws: as `download(_:onCancel:progress:)`.
  @discardableResult
  public nonisolated(nonsending) func download(
    _ url: ResourceURL, to destination: DownloadRequest.Destination,
    onCancel behavior: CancelBehavior = .pause, progress: (Progress) -> Void = { _ in }
  ) async throws(TransferError) -> TransferResult {
    try await download(
      .download(url, to: destination), onCancel: behavior, progress: progress)
  }
}

extension Transfer {
  /// Carries out what a cancelled task wanted; gives the result of what was completed before.
  fileprivate func leave(
    _ behavior: CancelBehavior
  ) async throws(TransferError) -> TransferResult {
    // Commands wait for what they stop, and in a cancelled task nothing waits: hence another.
    let outcome: Result<TransferResult, TransferError> = await Task {
      () async -> Result<TransferResult, TransferError> in
      do throws(TransferError) {
        switch behavior {
        case .pause: try await pause()
        case .cancel: try await cancel()
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
