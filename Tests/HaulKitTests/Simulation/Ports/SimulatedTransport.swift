import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers

typealias SharedLedger = NIOLockedValueBox<Ledger>

/// The network of one simulated process. Servers send correct content, but may refuse, be silent,
/// or break off.
final class SimulatedTransport: Transport {
  struct Resource: Sendable {
    let content: SeededContent
    let length: Int64
    var isMissing = false
    /// Whether every request is refused with 503.
    var isUnavailable = false
    var knowsRanges = true
    /// A pause in seconds that its host asks for, once; 0 is said until it is nil.
    var pause: Int?
    /// The time to its first byte, anew with each request.
    var preparation = Duration.zero
  }

  struct Behaviours: Sendable {
    /// One of so many requests fails; nil for none.
    var faultOneIn: Int?
    /// A host that refuses every connection.
    var unreachableHost: String?
    /// Whether requests may be begun without a task.
    var begins = false
    /// Whether answers and bytes may take time; otherwise all arrive at once.
    var pauses = true
  }

  /// By name; the same for every process.
  final class Servers: Sendable {
    private let state = NIOLockedValueBox<(resources: [String: Resource], behaviours: Behaviours)>(
      ([:], Behaviours()))
    let uploads = NIOLockedValueBox(SimulatedUploads())
    var behaviours: Behaviours {
      get { state.withLockedValue { $0.behaviours } }
      set { state.withLockedValue { $0.behaviours = newValue } }
    }
    subscript(name: String) -> Resource? {
      get { state.withLockedValue { $0.resources[name] } }
      set { state.withLockedValue { $0.resources[name] = newValue } }
    }
  }

  let servers: Servers
  let network = SimulatedNetwork()
  let clock: ManualClock
  let executor: SeededExecutor
  let ledger: SharedLedger
  let random: SeededRandom
  private let last = NIOLockedValueBox<UInt64>(0)
  private let dead = NIOLockedValueBox(false)

  init(
    servers: Servers, clock: ManualClock, executor: SeededExecutor, ledger: SharedLedger,
    random: SeededRandom
  ) {
    self.servers = servers
    self.clock = clock
    self.executor = executor
    self.ledger = ledger
    self.random = random
  }

  /// Nothing arrives any more, and requests are not seen.
  func die() { dead.withLockedValue { $0 = true } }
  var isDead: Bool { dead.withLockedValue { $0 } }

  func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    let response = try await ask(request)
    reportAnswer(of: request.url)
    return response
  }

  private func ask(_ request: FetchRequest) async throws -> FetchResponse {
    let range =
      "\(request.firstByte.map(String.init) ?? "")-\(request.lastByte.map(String.init) ?? "")"
    let connection = try open(request.url, range)
    try await wait(upTo: 120)
    return try await answer(request, on: connection)
  }

  /// From now on the manager knows that the host answers. Of an answer and a loss at the same
  /// instant, it may learn of the loss last.
  func reportAnswer(of url: ResourceURL) {
    let (host, now) = (url.origin.host, clock.now)
    ledger.withLockedValue { ledger in
      if ledger.silentSince[host] != now { ledger.silentSince[host] = nil }
    }
  }

  func begin(
    _ request: FetchRequest,
    _ answer: @escaping @Sendable (Result<FetchResponse, any Error>) -> Void
  ) -> (any FetchHandle)? {
    guard servers.behaviours.begins, random.oneIn(2) else { return nil }
    let task = Task(executorPreference: executor) {
      let result: Result<FetchResponse, any Error>
      do {
        result = .success(try await self.collecting(try await self.ask(request)))
        self.reportAnswer(of: request.url)
      } catch {
        result = .failure(error)
      }
      answer(result)
    }
    return Handle(task: task)
  }

  private struct Handle: FetchHandle {
    let task: Task<Void, Never>
    func cancel() { task.cancel() }
  }

  /// Some short bodies that come to their end are returned with their heads.
  private func collecting(_ response: FetchResponse) async throws -> FetchResponse {
    guard response.head.status < 300, random.oneIn(2),
      (response.body as? SimulatedBody)?.cut == nil
    else { return response }
    var chunks: [any ByteChunk] = []
    for try await chunk in response.body { chunks.append(chunk) }
    return FetchResponse(
      head: response.head, body: CollectedBody(chunks: chunks), executor: nil, collected: chunks)
  }

  func open(_ url: ResourceURL, _ text: String) throws -> SimulatedConnection {
    try checkAlive()
    guard network.isUp else {
      ledger.withLockedValue { $0.silentSince[url.origin.host] = clock.now }
      throw TransferError(.connect, "no way", isRetryable: true).with(.noRoute)
    }
    let (name, host) = (url.name, url.origin.host)
    let number = last.withLockedValue { last in
      last += 1
      return last
    }
    ledger.withLockedValue { ledger in
      let id = ledger.members.values.first { $0.name == name }?.id
      ledger.opened(number, for: id, host: host, "\(name) \(text)")
      ledger.checkStoredPause(host, wallSeconds: clock.wallSeconds)
      if let id { ledger.checkTime(id, clock) }
    }
    return SimulatedConnection(number: number, host: host, transport: self)
  }

  func checkAlive() throws {
    try Task.checkCancellation()
    if isDead { throw TransferError(.connectionLost, "the process is dead", isRetryable: true) }
  }

  func wait(upTo milliseconds: Int) async throws {
    guard servers.behaviours.pauses, random.oneIn(2) else { return await Task.yield() }
    try await clock.wait(.milliseconds(1 + random.below(milliseconds)))
  }
}

/// A network that a test can disable and enable.
final class SimulatedNetwork: NetworkState {
  private let state = NIOLockedValueBox(true)
  var isUp: Bool {
    get { state.withLockedValue { $0 } }
    set { state.withLockedValue { $0 = newValue } }
  }
}

extension ResourceURL {
  /// The last part of the path.
  var name: String { String(description.split(separator: "/").last ?? "") }
}

/// A connection that is closed when it is released.
final class SimulatedConnection: Sendable {
  let number: UInt64
  let host: String
  let transport: SimulatedTransport

  init(number: UInt64, host: String, transport: SimulatedTransport) {
    self.number = number
    self.host = host
    self.transport = transport
  }

  func close() {
    guard !transport.isDead else { return }
    transport.ledger.withLockedValue { $0.closed(number) }
  }

  deinit {
    if !transport.isDead { transport.ledger.withLockedValue { $0.letGo(number) } }
  }
}
