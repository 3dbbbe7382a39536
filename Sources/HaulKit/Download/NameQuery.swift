import HaulCore

/// Gets the first answer of a download whose name the server tells: no file is touched before its head is there.
///
/// It is the machine's own first request, with its retries; the body waits for the run that follows.
struct NameQuery {
  enum End: Sendable {
    case answered(HeldAnswer)
    case paused
    case cancelled
    case failed(TransferError)
  }

  private enum Message: Sendable {
    case event(DownloadMachine.Event)
    case response(SegmentID, HeldAnswer)
    case order(RunOrder)
  }

  private let driver: DownloadWork
  private let inbox: AsyncStream<Message>
  private let post: AsyncStream<Message>.Continuation
  private var machine: DownloadMachine
  private var plan = SegmentPlan()
  private var stops: [SegmentID: StopSignal] = [:]
  private var response: FetchResponse?
  private var hasStarted = false
  private var isCancelled = false
  /// When the next attempt is due, once there was a failure.
  private var retryAt: Instant?
  private var end: End?

  private var engine: Engine { driver.engine }

  init(_ driver: DownloadWork) {
    self.driver = driver
    (inbox, post) = AsyncStream.makeStream()
    var rules = driver.rules
    rules.connections = 1
    machine = DownloadMachine(rules: rules, now: driver.engine.clock.now)
  }

  /// Takes an order of the manager; may be called from anywhere.
  var take: @Sendable (RunOrder) -> Void {
    { [post] in post.yield(.order($0)) }
  }

  /// Returns when an answer was accepted or nothing more will be done. The connection stays granted with an answer.
  mutating func perform() async -> End {
    await withDiscardingTaskGroup { group in
      await begin(&group)
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

  private mutating func begin(_ group: inout DiscardingTaskGroup) async {
    guard engine.slots.update({ $0.grantConnection(for: driver.id) }) else {
      await driver.context.report(.slotLeft(until: nil))
      await driver.context.report(.slotWanted)
      return
    }
    let event = hasStarted ? DownloadMachine.Event.slotGranted : .start(nil)
    hasStarted = true
    await handle(event, &group)
  }

  private mutating func receive(_ message: Message, _ group: inout DiscardingTaskGroup) async {
    switch message {
    case .event(let event): await handle(driver.seen(event), &group)
    case .response(let id, let answer):
      response = answer.take()
      driver.log(id, answer.head)
      let wall = engine.clock.wallSeconds
      await driver.noteAnswer(in: &machine)
      await handle(
        .responded(id, answer.head, leadsElsewhere: false, wallSeconds: wall), &group)
    case .order(.slotGranted): await begin(&group)
    case .order(.cutShort): break
    case .order(.pause): await handle(.pause, &group)
    case .order(.cancel):
      isCancelled = true
      await handle(.pause, &group)
    }
  }

  private mutating func handle(
    _ event: DownloadMachine.Event, _ group: inout DiscardingTaskGroup
  ) async {
    let now = engine.clock.now
    await driver.noteHost(in: &machine, before: event)
    let commands = engine.random.withGenerator { generator in
      machine.handle(event, plan: &plan, at: now, using: &generator)
    }
    let isAccepted = response != nil && commands.contains(where: \.accepts)
    if isAccepted { end = response.map { .answered(HeldAnswer($0)) } }
    // Nobody else may keep its connection.
    response = nil
    if isAccepted { return }
    for command in commands { await perform(command, &group) }
  }

  private mutating func perform(
    _ command: DownloadMachine.Command, _ group: inout DiscardingTaskGroup
  ) async {
    switch command {
    case .open(let id, let fetch): open(id, fetch, &group)
    case .stop(let id): stops[id]?.stop()
    case .wake(let timer, let delay): wake(timer, after: delay, &group)
    case .leaveSlot: await driver.context.report(.slotLeft(until: retryAt))
    case .enterSlot: await driver.context.report(.slotWanted)
    case .limitHost(let error): await driver.limitHost(error)
    case .pauseHost(let delay):
      let until = engine.clock.now + delay
      engine.slots.update { $0.backOff(driver.host, until: until) }
      await driver.context.report(.slotsChanged)
    case .hostFailed(let delay): await driver.hostFailed(askAgain: delay)
    case .phase(let phase, let reason): tell(.phase(phase, reason: reason))
    case .attempt(let number, let error, let delay):
      tell(.attempt(number: number, error: error, delay: delay))
    case .finish(.failed(let error)): end = .failed(error)
    case .finish: end = isCancelled ? .cancelled : .paused
    case .drop, .receive, .compare, .noteUnproved, .begin, .requestConnection, .releaseConnection,
      .verify, .publish, .settled, .resume:
      // Let go of already, or not before a body is read.
      break
    }
  }

  private func tell(_ kind: TransferEvent.Kind) {
    engine.hub.publish(kind, of: driver.id, driver.request.url)
  }

  private mutating func open(
    _ id: SegmentID, _ fetch: FetchRequest, _ group: inout DiscardingTaskGroup
  ) {
    let stop = StopSignal()
    stops[id] = stop
    let (post, engine, host) = (post, engine, driver.host)
    driver.log(id, asks: fetch)
    group.addTask {
      let watched = WatchedFetch(id: id, stop: stop, engine: engine)
      let event = await watched.ask(fetch, of: host) {
        post.yield(.response(id, HeldAnswer($0)))
      }
      if let event { post.yield(.event(event)) }
    }
  }

  private mutating func wake(
    _ timer: DownloadMachine.Timer, after delay: Duration, _ group: inout DiscardingTaskGroup
  ) {
    let (post, clock) = (post, engine.clock)
    let instant = clock.now + delay
    if timer == .retry { retryAt = instant }
    group.addTask {
      if (try? await clock.sleep(until: instant)) != nil { post.yield(.event(.timer(timer))) }
    }
  }

  /// Orders that came too late to be followed here.
  func orders() async -> [RunOrder] {
    post.finish()
    var orders: [RunOrder] = []
    for await message in inbox { if case .order(let order) = message { orders.append(order) } }
    return orders
  }
}

extension DownloadMachine.Command {
  /// Whether it takes the answer's body, or an empty one, for the file.
  fileprivate var accepts: Bool {
    switch self {
    case .receive, .begin: true
    default: false
    }
  }
}
