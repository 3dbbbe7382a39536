import HaulCore

/// Runs one download.
///
/// A class, as copies of its many references cost.
final class DownloadDriver: TransferDriver {
  let request: DownloadRequest
  /// The name that the server told an earlier run.
  let serverName: FileName?
  /// Where an earlier run left its bytes, if this program knows.
  let former: FileLocation?
  /// Where the reader of a stream takes it.
  let stream: StreamBuffer?
  /// Where it runs; nil for the common threads.
  let executor: (any TaskExecutor)?
  /// Whether its end is stored beyond this process: its journal stays until then.
  let isStored: Bool
  let reportsProgress: Bool

  init(
    request: DownloadRequest, serverName: FileName?, former: FileLocation?, stream: StreamBuffer?,
    executor: (any TaskExecutor)?, isStored: Bool, reportsProgress: Bool
  ) {
    self.request = request
    self.serverName = serverName
    self.former = former
    self.stream = stream
    self.executor = executor
    self.isStored = isStored
    self.reportsProgress = reportsProgress
  }

  func run(_ context: RunContext) async -> RunEnd {
    // A closure that prepares requests must not wait for the transfer.
    guard context.engine.prepare != nil else { return await perform(context) }
    return await CurrentTransfer.$id.withValue(context.id) { await perform(context) }
  }

  private func perform(_ context: RunContext) async -> RunEnd {
    var run = DownloadRun(self, context)
    return await run.perform()
  }

  /// Whether the name comes with the first answer.
  private var learnsName: Bool {
    guard case .directory = request.destination else { return false }
    return request.usesServerName && serverName == nil
  }

  /// What the request says to the machine.
  func rules(of engine: Engine) -> DownloadMachine.Rules {
    var rules = DownloadMachine.Rules(url: request.url)
    rules.headers = request.fields
    rules.allowInsecure = request.allowInsecure
    if !request.trustedRedirectHosts.isEmpty {
      rules.trustedHosts = Set(request.trustedRedirectHosts.map { $0.lowercased() })
    }
    rules.connections = max(request.connections, 1)
    rules.minimumSplit = request.minimumSplit
    rules.checksums = request.checksums
    rules.allowUnverified = request.allowUnverified
    rules.isSameResource = request.resumesFromAnotherAddress
    rules.maximumSize = request.maximumSize
    rules.decodes = request.decodesContent
    rules.retry = request.retry
    rules.isAttended = engine.isAttended
    rules.isStream = request.destination == .stream
    rules.givesUpSlowConnections = !engine.throttle.isLimited
    rules.learnsName = learnsName
    return rules
  }
}
