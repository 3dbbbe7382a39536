import HaulCore

/// One download by the machine from a model server, with random events in random order.
struct DownloadMachineRandomSequence {
  private struct Open {
    let request: FetchRequest
    /// The version and the bytes of the answer, once it has arrived.
    var answer: (version: Int, body: ByteRange)?
    var position: Int64 = 0
    var isReceiving = false
    var begins = false
    var hasDelivered = false
    var isStopping = false
    /// Whether its last event is in the inbox.
    var isOver = false
  }

  private var random: SplitMix64
  private let hasSlowConnections: Bool
  private var server: ModelServer
  private var machine: DownloadMachine
  private var plan = SegmentPlan()
  private var now = Instant()
  private var opened: [SegmentID: Open] = [:]
  /// Events in the inbox, in order of arrival.
  private var inbox: [DownloadMachine.Event] = []
  private var timers: [(timer: DownloadMachine.Timer, at: Instant)] = []
  private var held = 0
  private var awaitsSlot = false
  /// The version and the bytes of the file on disk.
  private var file: (version: Int, bytes: ByteRangeSet) = (0, ByteRangeSet())
  private(set) var end: DownloadMachine.End?
  private(set) var violations: [String] = []
  /// Whether the rest of a straggler was fetched twice.
  private(set) var hasRaced = false

  init(seed: UInt64) throws {
    random = SplitMix64(seed: seed)
    hasSlowConnections = Int.random(in: 0..<3, using: &random) == 0
    server = ModelServer(isCalm: hasSlowConnections, using: &random)
    var rules = DownloadMachine.Rules(
      DownloadRequest(url: try ResourceURL("http://a.example/f"), to: .directory(".")))
    rules.request.minimumSplit = .random(in: 1...60, using: &random)
    rules.request.connections = .random(in: 1...6, using: &random)
    machine = DownloadMachine(rules: rules, now: now, using: &random)
  }

  mutating func run() {
    // The start may have to wait for its slot.
    while Int.random(in: 0..<3, using: &random) == 0 { send(.tick) }
    send(.start(.init()))
    for _ in 0..<50_000 where end == nil && violations.isEmpty { step() }
    if end == nil { violations.append("it never ended; open: \(opened.count), held: \(held)") }
  }

  private mutating func step() {
    server.maybeChange(using: &random)
    let choice = Int.random(in: 0..<20, using: &random)
    if choice == 0 { return send(.tick) }
    if choice == 1, Int.random(in: 0..<400, using: &random) == 0 { return send(.pause) }
    if choice == 2 { return watch() }
    if choice < 8, !inbox.isEmpty { return send(inbox.removeFirst()) }
    if choice < 10, awaitsSlot {
      awaitsSlot = false
      return inbox.append(.slotGranted)
    }
    if choice < 12, let first = timers.indices.min(by: { timers[$0].at < timers[$1].at }) {
      let timer = timers.remove(at: first)
      now = max(now, timer.at)
      return inbox.append(.timer(timer.timer))
    }
    if let id = opened.keys.sorted().randomElement(using: &random), !isSlow(id) { advance(id) }
  }

  /// Some servers serve every other connection far more slowly.
  private mutating func isSlow(_ id: SegmentID) -> Bool {
    hasSlowConnections && id.number.isMultiple(of: 2) && Int.random(in: 0..<20, using: &random) > 0
  }

  /// Bytes arrive for a second, from some connections faster than from others.
  private mutating func watch() {
    for _ in 0..<5 {
      now = now + .milliseconds(.random(in: 100...300, using: &random))
      for id in opened.keys.sorted() where !isSlow(id) { advance(id) }
      send(.measured)
      if plan.segments.values.contains(where: \.isShared) { hasRaced = true }
    }
  }

  private mutating func send(_ event: DownloadMachine.Event) {
    switch event {
    // A connection granted after the slot was given back must not be used.
    case .connectionGranted: held += held > 0 ? 1 : 0
    case .start, .slotGranted: held = 1
    case .ended(let id), .failed(let id, _), .stopped(let id): opened[id] = nil
    default: break
    }
    for command in machine.handle(event, in: .init(), plan: &plan, at: now) { perform(command) }
    if opened.count > held {
      violations.append("\(opened.count) fetches with \(held) connections")
    }
  }
}

/// The network and the disk.
extension DownloadMachineRandomSequence {
  private mutating func advance(_ id: SegmentID) {
    guard var fetch = opened[id], !fetch.isOver else { return }
    guard fetch.answer != nil else { return answer(id, fetch) }
    guard fetch.isReceiving else { return }
    if fetch.isStopping { return finish(id, .stopped(id)) }
    if server.fails(using: &random) { return finish(id, .failed(id, Self.lost)) }
    guard let answer = fetch.answer, fetch.position < answer.body.upperBound else {
      if fetch.begins { file = (fetch.answer?.version ?? 0, ByteRangeSet()) }
      return finish(id, .ended(id))
    }
    let count = min(
      Int64.random(in: 1...80, using: &random), answer.body.upperBound - fetch.position)
    if fetch.begins { file = (answer.version, ByteRangeSet()) }
    fetch.begins = false
    let grant = plan.reserve(id, count: Int(count))
    for piece in grant.pieces { write(piece, of: answer.version) }
    plan.noteWritten(id)
    fetch.position += Int64(grant.used)
    if !fetch.hasDelivered { inbox.append(.delivered(id)) }
    fetch.hasDelivered = true
    opened[id] = fetch
    if grant.isLast { finish(id, .ended(id)) }
  }

  private mutating func answer(_ id: SegmentID, _ fetch: Open) {
    if fetch.isStopping { return finish(id, .stopped(id)) }
    if server.fails(using: &random) { return finish(id, .failed(id, Self.lost)) }
    let version = server.version
    let (head, body) = server.answer(fetch.request, using: &random)
    opened[id]?.answer = (version, body)
    inbox.append(.responded(id, head, isFromOtherAddress: false, wallSeconds: 0))
  }

  private mutating func write(_ piece: ByteRange, of version: Int) {
    if file.version != version {
      violations.append("bytes of version \(version) in a file of version \(file.version)")
    }
    if !file.bytes.isDisjoint(ByteRangeSet(piece)) { violations.append("\(piece) written twice") }
    file.bytes.insert(contentsOf: piece)
  }

  /// Closes the connection; the machine gets the event later.
  private mutating func finish(_ id: SegmentID, _ event: DownloadMachine.Event) {
    opened[id]?.isOver = true
    inbox.append(event)
  }

  private static var lost: TransferError {
    TransferError(.connectionLost, "lost", isRetryable: true)
  }
}

/// Performs the commands of the machine.
extension DownloadMachineRandomSequence {
  private mutating func perform(_ command: DownloadMachine.Command) {
    switch command {
    case .open(let id, let request): opened[id] = Open(request: request)
    case .receive(let id, let body, let version): receive(id, body, begins: version != nil)
    case .drop(let id): opened[id] = nil
    case .stop(let id): opened[id]?.isStopping = true
    case .begin: file = (server.version, ByteRangeSet())
    case .requestConnection:
      if Bool.random(using: &random) { inbox.append(.connectionGranted) }
    case .releaseConnection: held -= 1
    case .wake(let timer, let delay): timers.append((timer, now + delay))
    case .releaseSlot: held = 0
    case .requestSlot: awaitsSlot = true
    case .publish(let version): publish(version)
    case .finish(let end): finish(end)
    case .bind, .compare, .noteMixedVersions, .verify:
      violations.append("nothing asks for that: \(command)")
    case .limitHost, .refusedAdditional, .pauseHost, .hostFailed, .phase, .attempt,
      .connectionsChosen, .resume:
      break
    }
  }

  private mutating func receive(_ id: SegmentID, _ body: ResponseBody, begins: Bool) {
    if body.start != opened[id]?.answer?.body.lowerBound {
      violations.append("a body is taken to begin at \(body.start)")
    }
    opened[id]?.isReceiving = true
    opened[id]?.position = body.start
    opened[id]?.begins = begins
  }

  private mutating func publish(_ version: DownloadMachine.Version) {
    let isWhole = version.length.map { file.bytes == ByteRangeSet(0..<$0) } ?? false
    if !isWhole || !plan.isComplete { violations.append("published with \(file.bytes.ranges)") }
    if !opened.isEmpty { violations.append("published while bytes came") }
    inbox.append(.published(nil))
  }

  private mutating func finish(_ end: DownloadMachine.End) {
    if self.end != nil { violations.append("a second end: \(end)") }
    if !opened.isEmpty { violations.append("ended with \(opened.count) open") }
    self.end = end
  }
}
