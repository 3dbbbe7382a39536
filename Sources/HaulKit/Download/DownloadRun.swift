import HaulCore
import HaulFiles
import Logging

/// One run of a download: passes events to the machine, and performs its commands.
struct DownloadRun: ~Copyable {
  let driver: DownloadDriver
  let context: RunContext
  let started: Instant
  var machine: DownloadMachine
  var surroundings = DownloadMachine.Surroundings()
  let plan: LockedSegmentPlan
  let inbox = DownloadInbox()
  /// Where the bytes go, once the name is known.
  var target: (any DownloadTarget)?
  var claim: TargetClaim?
  /// The name of a file that is kept, because it is no unchanged download.
  var kept: String?
  /// Where the bytes are.
  var location: FileLocation?
  /// Open requests and answers, by segment.
  var connections: [Connection] = []
  /// Work to run concurrently with the loop.
  var helpers: [@Sendable () async -> Void] = []
  lazy var verifyStop = StopSignal()
  var meter = RateMeter()
  var ticks = 0
  var reused: Int64 = 0
  var isCancelled = false
  var isReadingBack = false
  /// When the first answer came.
  var firstResponseAt: Instant?
  /// The last answer, also one that was refused.
  var lastHead: ResponseHead?
  var requests = 0
  var retries = 0
  /// Whether the manager has been informed that the old bytes are discarded.
  private var hasReportedStart = false
  /// The final path, once the file is published.
  var path: String?
  var end: RunEnd?
  /// The pending `start` event, while the promised slot is requested again.
  private var waitingStart: DownloadMachine.Event?
  /// When the next attempt is due, after a failure.
  var retryAt: Instant?
  var checkpoints: CheckpointTimer

  var id: TransferID { context.id }
  var engine: Engine { context.engine }
  var request: DownloadRequest { driver.request }
  /// Whether its own limit, or that of all transfers, may make it slower than the network.
  var isRateLimited: Bool { engine.throttle.isLimited || context.isRateLimited }

  init(_ driver: DownloadDriver, _ context: RunContext) {
    self.driver = driver
    self.context = context
    let engine = context.engine
    started = engine.clock.now
    var rules = DownloadMachine.Rules(driver.request)
    (rules.isAttended, rules.learnsName) = (engine.isAttended, driver.learnsName)
    let host = driver.request.url.origin.authority
    rules.rememberedConnections = engine.scheduler.update { $0.chosenConnections(of: host) }
    var random = engine.random
    machine = DownloadMachine(rules: rules, now: started, using: &random)
    let window = driver.stream.map {
      StreamWindow(size: $0.size, connections: max(driver.request.connections, 1))
    }
    plan = LockedSegmentPlan(SegmentPlan(window: window))
    checkpoints = CheckpointTimer(isStrict: driver.request.durability == .strict, now: started)
    surroundings.isRateLimited = isRateLimited
  }

  /// Returns when the download has ended or is paused: every connection is closed and every written
  /// byte is claimed.
  mutating func perform() async -> RunEnd {
    if let reason = await missingPartDirectory() { return .suspended(reason) }
    await runToEnd()
    let (length, received) = plan.update { ($0.plan.length, $0.plan.receivedCount) }
    location?.length = length
    var end = end ?? .paused
    if let reason = await waitReason(behind: end) { end = .suspended(reason) }
    await releaseTarget(end)
    driver.stream?.finish(end.outcome)
    if let location, !end.isFinal || (end.hasFailed && received > 0) {
      await context.report(.bytesLocated(location))
    }
    return end
  }

  private mutating func runToEnd() async {
    var found = DownloadMachine.Found()
    if !driver.learnsName {
      found = await bind()
      guard end == nil else { return }
    }
    context.receiveOrders(for: plan) { [inbox] in inbox.post(.order($0)) }
    driver.stream?.abandoned.whenStopped { [inbox] in inbox.post(.order(.cancel)) }
    engine.heartbeat.add(inbox)
    await begin(.start(found))
    // Most small files end before there is concurrent work.
    while end == nil, helpers.isEmpty { await receive(await inbox.next()) }
    if end == nil { await runWithHelpers() }
    await closeConnections()
    inbox.close()
  }

  private mutating func runWithHelpers() async {
    await withDiscardingTaskGroup { group in
      while end == nil {
        for helper in helpers { group.addTask { await helper() } }
        helpers = []
        await receive(await inbox.next())
      }
      group.cancelAll()
    }
  }

  private mutating func receive(_ message: DownloadInbox.Message) async {
    switch message {
    case .event(let event):
      switch event {
      case .delivered, .ended: await delivered()
      default: break
      }
      await handle(withoutNetwork(ended(event)))
    case .answered(let id):
      guard let head = takeAnswer(to: id) else { return }
      firstResponseAt = firstResponseAt ?? engine.clock.now
      lastHead = head
      log(id, head)
      engine.note(head)
      let wall = engine.clock.wallSeconds
      await noteAnswer()
      let isFirst =
        driver.stream != nil && plan.update { $0.plan.segments[id]?.written == 0 }
      await handle(
        .responded(id, head, isFromOtherAddress: isFromOtherAddress(head), wallSeconds: wall))
      if isFirst, 200..<300 ~= head.status, machine.version != nil {
        driver.stream?.note(TransferResponse(head))
      }
    case .order(let order): await follow(order)
    case .timer(let timer, let instant):
      // The timer of a wait that ended early must not end the next wait.
      if timer != .retry || instant == retryAt { await handle(.timer(timer)) }
    case .tick: await tick()
    case .checkpointed(let error):
      checkpoints.ended(at: engine.clock.now)
      if let error { await handle(.diskFailed(error)) }
    case .digestAdvanced: isReadingBack = false
    case .published(.success(let path)):
      self.path = path
      await handle(.published(nil))
    case .published(.failure(let error)): await handle(.published(error))
    }
  }

  private mutating func follow(_ order: RunOrder) async {
    switch order {
    case .slotGranted:
      // The wait is over, perhaps early.
      retryAt = nil
      return await begin(waitingStart ?? .slotGranted)
    case .pause: break
    case .cancel: isCancelled = true
    case .forceStop: return
    }
    verifyStop.stop()
    await handle(.pause)
  }

  private mutating func delivered() async {
    engine.scheduler.update { $0.noteDelivering(id) }
    guard request.startOver, !hasReportedStart else { return }
    hasReportedStart = true
    await context.report(.startedOver)
  }

  /// Starts the machine if the connection of its slot is still available. If the host now has a
  /// pause or a lower limit, it releases the slot and waits in its old position.
  private mutating func begin(_ event: DownloadMachine.Event) async {
    if engine.scheduler.update({ $0.grantConnection(for: id) }) {
      waitingStart = nil
      // No connection is granted during a pause.
      if case .slotGranted = event { surroundings.isHostPaused = false }
      await handle(event)
      if case .start = event { expectDigests() }
      return
    }
    if case .start = event { waitingStart = event }
    await context.report(.slotReleased(until: nil))
    await context.report(.slotRequested)
  }

  mutating func handle(_ event: DownloadMachine.Event) async {
    let now = engine.clock.now
    await noteHost(before: event, at: now)
    let commands = plan.update {
      machine.handle(event, in: surroundings, plan: &$0.plan, at: now)
    }
    for command in commands { await perform(command, at: now) }
  }
}
