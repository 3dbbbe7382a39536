import HaulCore
import HaulFiles

/// Runs one download: tells the machine what happens and performs what it returns.
struct DownloadDriver: Sendable {
  /// What stays as it is; a class, as copies of its many references cost.
  final class Facts: Sendable {
    let id: TransferID
    let request: DownloadRequest
    let engine: Engine
    /// Gives the slot back, and asks for it again, around a delay.
    let slot: SlotAccess
    /// Where the reader of a stream takes it.
    let stream: StreamBuffer?
    /// Where it runs; nil for the common threads.
    let executor: (any TaskExecutor)?
    let tellsProgress: Bool
    /// Keeps the name that the server told.
    let named: @Sendable (FileName) async -> Void
    /// Called when the bytes that were to be forgotten are.
    let startedOver: @Sendable () async -> Void
    /// Called when the file has its name, with what is to be done once that is stored; nil where nothing is stored that
    /// outlives the process.
    let published: Published?
    /// Where an earlier run left its bytes, if this program knows.
    let former: TargetPlace?
    /// Where the file lies, for the queue to know.
    let place: PlaceNote

    typealias Published = @Sendable (_ onceStored: @escaping @Sendable () -> Void) async -> Void

    init(
      id: TransferID, request: DownloadRequest, engine: Engine, slot: SlotAccess,
      stream: StreamBuffer?, executor: (any TaskExecutor)?, tellsProgress: Bool,
      named: @escaping @Sendable (FileName) async -> Void,
      startedOver: @escaping @Sendable () async -> Void,
      published: Published? = nil, former: TargetPlace? = nil, place: PlaceNote
    ) {
      self.id = id
      self.request = request
      self.engine = engine
      self.slot = slot
      self.stream = stream
      self.executor = executor
      self.tellsProgress = tellsProgress
      self.named = named
      self.startedOver = startedOver
      self.published = published
      self.former = former
      self.place = place
    }
  }

  let facts: Facts
  var orders: OrderRelay
  /// The name that the server told an earlier run.
  var serverName: FileName?

  var id: TransferID { facts.id }
  var request: DownloadRequest { facts.request }
  var engine: Engine { facts.engine }
  var slot: SlotAccess { facts.slot }
  var stream: StreamBuffer? { facts.stream }
  var executor: (any TaskExecutor)? { facts.executor }
  var named: @Sendable (FileName) async -> Void { facts.named }

  struct SlotAccess: Sendable {
    /// Until it is wanted again: at that time, when it is known.
    let leave: @Sendable (Instant?) async -> Void
    let enter: @Sendable () async -> Void
    /// Looks again for what may start: a connection is free, or a host has a new limit or pause.
    let changed: @Sendable () async -> Void
  }

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
  func run() async -> MemberRun.End {
    let started = engine.clock.now
    if let stream { return await run(into: stream, started: started) }
    guard request.usesServerName, serverName == nil, case .directory = request.destination else {
      return await run(since: started)
    }
    var query = NameQuery(self)
    orders.turn(to: query.take)
    switch await query.perform() {
    case .paused: return .paused
    case .cancelled: return failed(.cancelled, since: started)
    case .failed(let error): return failed(.failed, error, since: started)
    case .answered(let answer):
      let rest = OrderRelay()
      orders.turn(to: rest.send)
      for order in await query.orders() { rest.send(order) }
      // The run asks for it again, as every run does.
      engine.slots.update { _ = $0.releaseConnection(for: id) }
      var driver = self
      driver.orders = rest
      driver.serverName = FileName(answer.head.headers)
      if let name = driver.serverName { await named(name) }
      return await driver.run(since: started, first: answer)
    }
  }

  private func run(since started: Instant, first: HeldAnswer? = nil) async -> MemberRun.End {
    do {
      switch try await claim() {
      case .alreadyThere(let path, let size, let checksums):
        return .finished(
          TransferResult(
            state: .completed, path: path, bytes: size, reused: size,
            duration: engine.clock.now - started, checksums: checksums,
            verified: checksums.isEmpty ? nil : .checksum))
      case .claimed(let claim):
        facts.place.begin(claim, boot: engine.disk.bootID)
        if claim.number > 0 || serverName != nil {
          engine.hub.publish(
            .target(claim.path, reason: await leftAlone(by: claim)), of: id, request.url)
        }
        if let obstacle = await refusal(of: claim) {
          engine.targets.keep(claim.key)
          return .held(obstacle)
        }
        if facts.published != nil { claim.part.keepJournal() }
        await engine.hooks.recovered(id)
        let target = FileTarget(
          claim: claim, url: request.url, io: engine.io, commits: engine.commits,
          clock: engine.clock)
        var run = DownloadRun(
          driver: self, target: target, plan: SharedPlan(SegmentPlan()), started: started,
          first: first)
        let end = await run.perform()
        facts.place.end(length: run.plan.update { $0.plan.length })
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
  private func ended(_ end: MemberRun.End, _ claim: TargetClaim) async {
    guard end.isOver else { return engine.targets.keep(claim.key) }
    guard let published = facts.published, end.hasFile else {
      return engine.targets.letGo(claim.key)
    }
    await published { [engine] in
      claim.part.removeJournal()
      engine.targets.letGo(claim.key)
    }
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
  private func run(into stream: StreamBuffer, started: Instant) async -> MemberRun.End {
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
  ) -> MemberRun.End {
    .finished(
      TransferResult(state: state, duration: engine.clock.now - started, error: error))
  }

  /// Takes away what an earlier, paused run left.
  func discard() async {
    guard stream == nil else { return }
    let nonce = engine.random.bytes(16)
    // What cannot be removed now stays a part file, which a later run adopts.
    try? await engine.io.run { () throws(TransferError) in
      do throws(TransferError) {
        try discard(nonce)
      } catch {
        guard error.hindrance == .noRoom, let former = facts.former else { throw error }
        try former.discard(request.url, on: engine.disk)
      }
    }
  }

  private func discard(_ nonce: [UInt8]) throws(TransferError) {
    let outcome = try TargetClaim.make(
      for: request, of: id, serverName: serverName, on: engine.disk, nonce: nonce,
      book: engine.targets)
    guard case .claimed(let claim) = outcome else { return }
    defer { engine.targets.letGo(claim.key) }
    // A given name is that of no other address: a run would take the part over as well.
    guard request.destination.isExact || claim.part.isOf(request.url) else {
      return claim.part.release()
    }
    try claim.part.discard()
  }
}

extension MemberRun.End {
  /// What the reader of a stream is told behind the last byte.
  var outcome: Result<Void, TransferError> {
    switch self {
    case .paused, .held, .notBegun, .foundPublished:
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
