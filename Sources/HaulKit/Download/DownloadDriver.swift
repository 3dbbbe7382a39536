import HaulCore

/// Runs one download.
///
/// A class, because copying its many references costs time.
final class DownloadDriver: TransferDriver {
  let request: DownloadRequest
  /// The name that the server sent to an earlier run.
  let serverName: FileName?
  let previous: PreviousRun
  /// Whether their directory must be there: it is waited for.
  let needsPreviousBytes: Bool
  /// The buffer that the reader of a stream reads from.
  let stream: StreamBuffer?
  /// Where it runs; nil for the global executor.
  let executor: (any TaskExecutor)?
  /// Whether its end is stored on disk: its journal is kept until then.
  let isStored: Bool

  init(
    request: DownloadRequest, serverName: FileName?, previous: PreviousRun,
    needsPreviousBytes: Bool, stream: StreamBuffer?, executor: (any TaskExecutor)?, isStored: Bool
  ) {
    self.request = request
    self.serverName = serverName
    self.previous = previous
    self.needsPreviousBytes = needsPreviousBytes
    self.stream = stream
    self.executor = executor
    self.isStored = isStored
  }

  func run(_ context: RunContext) async -> RunEnd {
    // A `prepare` closure must not wait for its own transfer.
    guard context.engine.prepare != nil else { return await perform(context) }
    return await CurrentTransfer.$id.withValue(context.id) { await perform(context) }
  }

  private func perform(_ context: RunContext) async -> RunEnd {
    var run = DownloadRun(self, context)
    return await run.perform()
  }

  /// Whether the server sends the name, with the first answer.
  var learnsName: Bool {
    guard case .directory = request.destination else { return false }
    return request.usesSuggestedName && serverName == nil
  }

}
