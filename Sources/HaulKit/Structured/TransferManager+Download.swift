public import HaulCore

extension TransferManager {
  /// Downloads a file, and returns when it is complete. It waits for a slot as any member of the
  /// queue does, and can be paused and resumed by its id.
  /// - Parameters:
  ///   - request: a download to a file.
  ///   - behavior: what happens to it when the task is cancelled. It has happened when this throws;
  ///     a download that has completed in the meantime is returned.
  ///   - progress: called in the caller's isolation with the newest progress, and once with all
  ///     bytes before this returns.
  /// - Throws: why it failed; `cancelled` when it was cancelled; `dependency-failed` when a
  ///   dependency was not completed (it stays in the list); `interrupted` when the task was
  ///   cancelled and the download is paused or continues, or the manager was shut down; as `add`.
  @discardableResult
  public nonisolated(nonsending) func download(
    _ request: TransferRequest, onCancel behavior: CancelBehavior = .pause,
    progress: (TransferProgress) -> Void = { _ in }
  ) async throws(TransferError) -> TransferResult {
    guard !Task.isCancelled else {
      throw TransferError(.cancelled, "the task was cancelled before the download was added")
    }
    guard request.download?.destination != .stream else {
      throw TransferError(.refused, "a stream is added, and read with its bytes")
    }
    return try await add(request).follow(progress, onCancel: behavior)
  }

  /// Downloads an address to a destination; see `download(_:onCancel:progress:)`.
  /// - Throws: as `download(_:onCancel:progress:)`; `bad-url`, `unsupported-scheme`.
  @discardableResult
  public nonisolated(nonsending) func download(
    _ url: some ResourceAddress, to destination: DownloadRequest.Destination,
    onCancel behavior: CancelBehavior = .pause, progress: (TransferProgress) -> Void = { _ in }
  ) async throws(TransferError) -> TransferResult {
    try await download(
      .download(try url.checked(), to: destination), onCancel: behavior, progress: progress)
  }
}
