import HaulCore
import HaulFiles

/// One run of a download: the loop between the machine and the world.
struct DownloadRun {
  enum Message: Sendable {
    case event(DownloadMachine.Event)
    case response(SegmentID, HeldAnswer)
    case order(RunOrder)
    case tick
    case checkpointed(TransferError?)
    case digestAdvanced
    case published(Result<String?, TransferError>)
  }

  let driver: DownloadWork
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
  /// When the first answer came.
  var firstAnswer: Instant?
  var requests = 0
  var retries = 0
  /// Whether the manager knows that the old bytes are forgotten.
  private var hasToldStart = false
  /// The final path, once the file has it.
  var path: String?
  var end: RunEnd?
  /// What `start` will be told, while the slot that was promised is waited for anew.
  private var waitingStart: DownloadMachine.Event?
  /// When the next attempt is due, once there was a failure.
  var retryAt: Instant?
  /// The answer that told the name, for the first request to be answered by.
  private var first: HeldAnswer?
  var firstAnswered: SegmentID?
  var checkpoints: CheckpointTimer
  /// Where the run, and the first connection of it, runs.
  let executor: (any TaskExecutor)?

  var engine: Engine { driver.engine }
  var request: DownloadRequest { driver.request }

  /// - Parameter first: an answer to `bytes=0-` that is there already, its body unread.
  init(
    driver: DownloadWork, target: any DownloadTarget, plan: SharedPlan, started: Instant,
    first: HeldAnswer? = nil
  ) {
    self.driver = driver
    self.first = first
    self.target = target
    self.started = started
    var rules = driver.rules
    rules.existing = target.existing
    rules.needsExisting = target.needsExisting
    let host = driver.host
    rules.rememberedConnections = driver.engine.slots.update {
      $0.settledConnections(of: host)
    }
    machine = DownloadMachine(rules: rules, now: started)
    self.plan = plan
    executor = driver.executor
    (inbox, post) = AsyncStream.makeStream()
    checkpoints = CheckpointTimer(isStrict: driver.request.durability == .strict, now: started)
  }

  mutating func perform() async -> RunEnd {
    if target.recovery.published { return await foundPublished() }
    let recovered = await recover()
    let beat = startHelpers()
    defer { engine.heartbeat.remove(beat) }
    await withDiscardingTaskGroup { group in
      await begin(.start(recovered), &group)
      // Less, when the machine would not count what an earlier run left.
      if end == nil { reused = plan.update { $0.plan.receivedCount } }
      if reused > 0 { target.expectDigests(machine.checksums.map(\.algorithm)) }
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
  private mutating func foundPublished() async -> RunEnd {
    let recovery = target.recovery
    reused = recovery.publishedLength ?? 0
    await target.release()
    let path = recovery.publishedName.flatMap(target.path)
    let found = result(.completed, path: path, bytes: reused, verified: .length)
    return request.startOver ? .foundPublished(found) : .finished(found)
  }

  /// Has orders and ticks come into the inbox; gives the number of the heartbeat to take off at the end.
  private func startHelpers() -> UInt64 {
    driver.context.receiveOrders { [post] in post.yield(.order($0)) }
    driver.stream?.abandoned.whenStopped { [post] in post.yield(.order(.cancel)) }
    return engine.heartbeat.add { [post] _ in post.yield(.tick) }
  }

  private mutating func receive(_ message: Message, _ group: inout DiscardingTaskGroup) async {
    switch message {
    case .event(let event):
      if case .delivered = event { await delivered() }
      await handle(driver.seen(event), &group)
    case .response(let id, let answer):
      responses[id] = answer.take()
      firstAnswer = firstAnswer ?? engine.clock.now
      // The answer that told the name was logged when it came.
      if id != firstAnswered { driver.log(id, answer.head) }
      engine.note(answer.head)
      let wall = engine.clock.wallSeconds
      await driver.noteAnswer(in: &machine)
      await handle(
        .responded(
          id, answer.head, leadsElsewhere: leadsElsewhere(answer.head), wallSeconds: wall),
        &group)
    case .order(.pause): await pause(&group)
    case .order(.cancel):
      isCancelled = true
      await pause(&group)
    case .order(.cutShort): break
    case .order(.slotGranted): await begin(waitingStart ?? .slotGranted, &group)
    case .tick: await tick(&group)
    case .checkpointed(let error):
      checkpoints.ended(at: engine.clock.now)
      if let error { await handle(.diskFailed(error), &group) }
    case .digestAdvanced: isReadingBack = false
    case .published(.success(let path)):
      self.path = path
      await handle(.published(nil), &group)
    case .published(.failure(let error)): await handle(.published(error), &group)
    }
  }

  private mutating func delivered() async {
    engine.slots.update { $0.delivers(driver.id) }
    guard request.startOver, !hasToldStart else { return }
    hasToldStart = true
    await driver.context.report(.startedOver)
  }

  /// Tells the machine that it may begin, if the connection that came with the slot is still there: a pause of the host
  /// or a lower limit may have come since. Then the slot is given back, and waited for in the old place.
  private mutating func begin(
    _ event: DownloadMachine.Event, _ group: inout DiscardingTaskGroup
  ) async {
    if engine.slots.update({ $0.grantConnection(for: driver.id) }) {
      waitingStart = nil
      await handle(event, &group)
      return
    }
    if case .start = event { waitingStart = event }
    // Nor may an answer that is there already keep its connection.
    _ = first?.take()
    await driver.context.report(.slotLeft(until: nil))
    await driver.context.report(.slotWanted)
  }

  /// The answer that is there already, when it is one to this request.
  mutating func takeFirst(for fetch: FetchRequest) -> FetchResponse? {
    let answer = first?.take()
    first = nil
    return fetch.firstByte == 0 && fetch.url == request.url ? answer : nil
  }

  private mutating func pause(_ group: inout DiscardingTaskGroup) async {
    verifyStop.stop()
    await handle(.pause, &group)
  }

  mutating func handle(
    _ event: DownloadMachine.Event, _ group: inout DiscardingTaskGroup
  ) async {
    let now = engine.clock.now
    if let id = event.endedFetch { stops[id] = nil }
    await driver.noteHost(in: &machine, before: event)
    let commands = engine.random.withGenerator { generator in
      plan.update { state in
        machine.handle(event, plan: &state.plan, at: now, using: &generator)
      }
    }
    for command in commands { await perform(command, &group) }
  }
}

extension DownloadMachine.Event {
  /// The fetch that has ended.
  fileprivate var endedFetch: SegmentID? {
    switch self {
    case .ended(let id), .failed(let id, _), .stopped(let id): id
    default: nil
    }
  }
}
