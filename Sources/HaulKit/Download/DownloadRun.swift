import HaulCore
import HaulFiles

/// One run of a download: the loop between the machine and the world.
struct DownloadRun {
  enum Message: Sendable {
    case event(DownloadMachine.Event)
    case response(SegmentID, FetchResponse)
    case order(DownloadDriver.Order)
    case tick
    case checkpointed(TransferError?)
    case digestAdvanced
    case publishedAt(String?)
  }

  let driver: DownloadDriver
  let target: any DownloadTarget
  let started: Instant
  var machine: DownloadMachine
  let plan: SharedPlan
  let inbox: AsyncStream<Message>
  let post: AsyncStream<Message>.Continuation
  var responses: [SegmentID: FetchResponse] = [:]
  var stops: [SegmentID: StopSignal] = [:]
  let verifyStop = StopSignal()
  var meter = RateMeter()
  var ticks = 0
  var reused: Int64 = 0
  var isCancelled = false
  var isReadingBack = false
  /// The final path, once the file has it.
  var path: String?
  var end: DownloadDriver.End?
  var checkpoints: CheckpointTimer

  var engine: Engine { driver.engine }
  var request: TransferRequest { driver.request }

  init(
    driver: DownloadDriver, target: any DownloadTarget, plan: SharedPlan, started: Instant
  ) {
    self.driver = driver
    self.target = target
    self.started = started
    var rules = DownloadMachine.Rules(url: driver.request.url)
    rules.headers = driver.request.fields
    rules.allowInsecure = driver.request.allowInsecure
    rules.trustedHosts = Set(driver.request.trustedRedirectHosts.map { $0.lowercased() })
    rules.connections = max(driver.request.connections, 1)
    rules.minimumSplit = driver.request.minimumSplit
    rules.checksum = driver.request.checksum
    rules.allowUnverified = driver.request.allowUnverified
    rules.maximumSize = driver.request.maximumSize
    rules.retry = driver.request.retry
    rules.existing = target.existing
    rules.isStream = driver.request.destination == .stream
    rules.givesUpSlowConnections = !driver.engine.throttle.isLimited
    machine = DownloadMachine(rules: rules, now: started)
    self.plan = plan
    (inbox, post) = AsyncStream.makeStream()
    checkpoints = CheckpointTimer(isStrict: driver.request.durability == .strict, now: started)
  }

  mutating func perform() async -> DownloadDriver.End {
    if target.recovery.published { return await foundPublished() }
    let recovered = recover()
    _ = driver.engine.slots.update { $0.grantConnection(for: driver.id) }
    await withTaskGroup(of: Void.self) { group in
      startHelpers(&group)
      await handle(.start(recovered), &group)
      // Less, when the machine would not count what an earlier run left.
      if end == nil { reused = plan.update { $0.plan.receivedCount } }
      if reused > 0 { target.expectDigest(machine.checksum?.algorithm) }
      if end == nil {
        for await message in inbox {
          await receive(message, &group)
          if end != nil { break }
        }
      }
      group.cancelAll()
    }
    return end ?? .paused
  }

  /// A crash came between the final name and the end of the journal.
  private mutating func foundPublished() async -> DownloadDriver.End {
    let recovery = target.recovery
    reused = recovery.publishedLength ?? 0
    await target.release()
    let path = recovery.publishedName.flatMap(target.path)
    return .finished(result(.completed, path: path, bytes: reused, verified: .length))
  }

  /// What the part file is worth to this request.
  private mutating func recover() -> DownloadMachine.Recovered? {
    let recovery = target.recovery
    // Bytes that failed one digest are worth something only to another.
    let isRejected =
      request.checksum.map(recovery.rejected.contains) ?? !recovery.rejected.isEmpty
    guard let head = recovery.head, !request.startOver, !isRejected, !recovery.received.isEmpty
    else {
      return nil
    }
    plan.update { $0.plan = SegmentPlan(length: head.length, received: recovery.received) }
    reused = recovery.received.byteCount
    // The server will not be asked about a complete part, so it must be of this very address.
    let isComplete = plan.update { $0.plan.isComplete }
    let isOther =
      isComplete
      ? head.fingerprint != JournalHead.fingerprint(of: request.url)
      : head.origin != request.url.origin.description
    return DownloadMachine.Recovered(
      version: .init(
        validator: head.validator, length: head.length,
        announced: head.announced.flatMap { Checksum($0) }), isFromAnotherOrigin: isOther)
  }

  private func startHelpers(_ group: inout TaskGroup<Void>) {
    let (post, clock, orders) = (post, engine.clock, driver.orders)
    group.addTask {
      for await order in orders { post.yield(.order(order)) }
    }
    if let abandoned = driver.stream?.abandoned {
      group.addTask {
        await abandoned.wait()
        if abandoned.isStopped { post.yield(.order(.cancel)) }
      }
    }
    group.addTask {
      // Ends when the group is cancelled.
      while (try? await clock.sleep(until: clock.now + .milliseconds(100))) != nil {
        post.yield(.tick)
      }
    }
  }

  private mutating func receive(_ message: Message, _ group: inout TaskGroup<Void>) async {
    switch message {
    case .event(let event): await handle(event, &group)
    case .response(let id, let response):
      responses[id] = response
      log(id, response.head)
      let wall = engine.clock.wallSeconds
      await handle(.responded(id, response.head, wallSeconds: wall), &group)
    case .order(.pause): await pause(&group)
    case .order(.cancel):
      isCancelled = true
      await pause(&group)
    case .order(.slotGranted):
      _ = engine.slots.update { $0.grantConnection(for: driver.id) }
      await handle(.slotGranted, &group)
    case .tick: await tick(&group)
    case .checkpointed(let error):
      checkpoints.ended(at: engine.clock.now)
      if let error { await handle(.diskFailed(error), &group) }
    case .digestAdvanced: isReadingBack = false
    case .publishedAt(let path):
      self.path = path
      await handle(.published(nil), &group)
    }
  }

  private mutating func pause(_ group: inout TaskGroup<Void>) async {
    verifyStop.stop()
    await handle(.pause, &group)
  }

  mutating func handle(
    _ event: DownloadMachine.Event, _ group: inout TaskGroup<Void>
  ) async {
    let now = engine.clock.now
    let commands = engine.random.withGenerator { generator in
      plan.update { state in
        machine.handle(event, plan: &state.plan, at: now, using: &generator)
      }
    }
    for command in commands { await perform(command, &group) }
  }
}
