import HaulCore
import HaulFiles

/// Runs one download.
///
/// A class, as copies of its many references cost.
final class DownloadDriver: TransferDriver {
  let request: DownloadRequest
  /// The name that the server told an earlier run.
  let serverName: FileName?
  /// Where an earlier run left its bytes, if this program knows.
  let former: TargetPlace?
  /// Where the reader of a stream takes it.
  let stream: StreamBuffer?
  /// Where it runs; nil for the common threads.
  let executor: (any TaskExecutor)?
  /// Whether its end is stored beyond this process: its journal stays until then.
  let isStored: Bool
  let reportsProgress: Bool

  init(
    request: DownloadRequest, serverName: FileName?, former: TargetPlace?, stream: StreamBuffer?,
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
    let work = DownloadWork(driver: self, context: context, serverName: serverName)
    // A closure that prepares requests must not wait for the transfer.
    guard context.engine.prepare != nil else { return await work.runUnlessHeld() }
    return await OwnTransfer.$id.withValue(context.id) { await work.runUnlessHeld() }
  }
}

/// One run of it.
struct DownloadWork: Sendable {
  let driver: DownloadDriver
  let context: RunContext
  var serverName: FileName?
  let place = PlaceNote()

  var id: TransferID { context.id }
  var engine: Engine { context.engine }
  var request: DownloadRequest { driver.request }
  var stream: StreamBuffer? { driver.stream }
  var executor: (any TaskExecutor)? { driver.executor }

  /// What the request says to the machine.
  var rules: DownloadMachine.Rules {
    var rules = DownloadMachine.Rules(url: request.url)
    rules.headers = request.fields
    rules.allowInsecure = request.allowInsecure
    rules.trustedHosts = Set(request.trustedRedirectHosts.map { $0.lowercased() })
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
    return rules
  }

  /// Returns when the download has ended or is paused: every connection closed, every byte written is claimed.
  func run() async -> RunEnd {
    let started = engine.clock.now
    if let stream { return await run(into: stream, started: started) }
    guard request.usesServerName, serverName == nil, case .directory = request.destination else {
      return await run(since: started)
    }
    var query = NameQuery(self)
    context.receiveOrders(query.take)
    switch await query.perform() {
    case .paused: return .paused
    case .cancelled: return failed(.cancelled, since: started)
    case .failed(let error): return failed(.failed, error, since: started)
    case .answered(let answer):
      context.keepOrders()
      for order in await query.orders() { context.send(order) }
      // The run asks for it again, as every run does.
      engine.slots.update { _ = $0.releaseConnection(for: id) }
      var driver = self
      driver.serverName = FileName(answer.head.headers)
      if let name = driver.serverName { await context.report(.named(name)) }
      return await driver.run(since: started, first: answer)
    }
  }

  private func run(since started: Instant, first: HeldAnswer? = nil) async -> RunEnd {
    do {
      switch try await claim() {
      case .alreadyThere(let path, let size, let checksums):
        return .finished(
          TransferResult(
            state: .completed, path: path, bytes: size, reused: size,
            duration: engine.clock.now - started, checksums: checksums,
            verified: checksums.isEmpty ? nil : .checksum))
      case .claimed(let claim):
        place.begin(claim, boot: engine.disk.bootID)
        if claim.number > 0 || serverName != nil {
          engine.hub.publish(
            .target(claim.path, reason: await leftAlone(by: claim)), of: id, request.url)
        }
        if let obstacle = await refusal(of: claim) {
          engine.targets.keep(claim.key)
          return .suspended(obstacle)
        }
        if driver.isStored { claim.part.keepJournal() }
        await engine.hooks.recovered(id)
        let target = FileTarget(
          claim: claim, url: request.url, io: engine.io, commits: engine.commits,
          clock: engine.clock)
        var run = DownloadRun(
          driver: self, target: target, plan: SharedPlan(SegmentPlan()), started: started,
          first: first)
        let end = await run.perform()
        place.end(length: run.plan.update { $0.plan.length })
        await ended(end, claim)
        return end
      }
    } catch {
      return failed(.failed, error, since: started)
    }
  }

  /// Why a new number is added to the name; nil where no file that is there is the cause.
  private func leftAlone(by claim: TargetClaim) async -> String? {
    guard claim.number > 0, claim.replacement == .none, request.ifExists == .update else {
      return nil
    }
    // Where it cannot be looked at nothing is said of it.
    let former = try? await engine.io.run { () throws(TransferError) in
      try TargetCheck.state(of: claim.wanted.text, in: claim.directory)
    }
    guard let former, former != .absent else { return nil }
    return "\(claim.wanted.text) is not what haul made of this address, or was changed since"
  }

  /// Lets go of the target, or has that done once it is stored that the file is there.
  private func ended(_ end: RunEnd, _ claim: TargetClaim) async {
    guard end.isOver else { return engine.targets.keep(claim.key) }
    guard driver.isStored, end.hasFile else { return engine.targets.letGo(claim.key) }
    let targets = engine.targets
    await context.report(
      .published {
        claim.part.removeJournal()
        targets.letGo(claim.key)
      })
  }

  /// The name and the part file. Most files are new: a look at the directory tells, and a change of threads would take longer.
  private func claim() async throws(TransferError) -> TargetClaim.Outcome {
    let nonce = engine.random.bytes(16)
    let (request, serverName, engine) = (request, serverName, engine)
    if executor != nil {
      let new = try await engine.io.inPlace.run { () throws(TransferError) in
        try TargetClaim.makeNew(
          for: request, of: id, serverName: serverName, on: engine.disk, nonce: nonce,
          book: engine.targets)
      }
      if let new { return .claimed(new) }
    }
    return try await engine.io.run { () throws(TransferError) in
      try TargetClaim.make(
        for: request, of: id, serverName: serverName, on: engine.disk, nonce: nonce,
        book: engine.targets)
    }
  }

  /// A stream is run once: what its reader has got cannot be taken back.
  private func run(into stream: StreamBuffer, started: Instant) async -> RunEnd {
    let window = StreamWindow(size: stream.size, connections: max(request.connections, 1))
    let plan = SharedPlan(SegmentPlan(window: window))
    var run = DownloadRun(
      driver: self, target: StreamTarget(buffer: stream, plan: plan), plan: plan, started: started)
    stream.attach(plan) { [post = run.post] in post.yield(.event(.windowMoved)) }
    let end = await run.perform()
    stream.finish(end.outcome)
    return end
  }

  private func failed(
    _ state: TransferResult.State, _ error: TransferError? = nil, since started: Instant
  ) -> RunEnd {
    .finished(
      TransferResult(state: state, duration: engine.clock.now - started, error: error))
  }
}

extension RunEnd {
  /// What the reader of a stream is told behind the last byte.
  var outcome: Result<Void, TransferError> {
    switch self {
    case .paused, .suspended, .notBegun, .foundPublished:
      .failure(TransferError(.interrupted, "it was stopped; a stream cannot be gone on with"))
    case .finished(let result):
      switch result.state {
      case .completed: .success(())
      case .cancelled: .failure(TransferError(.cancelled, "cancelled"))
      case .failed: .failure(result.error ?? TransferError(.internal, "it failed"))
      }
    }
  }
}
