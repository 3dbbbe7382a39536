import HaulCore
import HaulFiles
import HaulHTTP
import HaulKit
import HaulTesting
import Testing

/// A manager on the real network and the real file system, with all its events, for tests of the
/// queue.
struct QueueFixture: Sendable {
  /// Bytes of every file.
  static let length = 1 << 20
  /// Where a held answer stops.
  static let stallOffset = 200 << 10

  let base: DownloadFixture
  let manager: TransferManager
  let log: EventLog
  /// The connections of each transfer, by default.
  var connections = 1

  var server: FaultServer { base.server }

  /// Runs `body` with a manager that is shut down afterwards, and returns all its events.
  /// - Parameters:
  ///   - active: transfers that run at once; also the most requests that the server may get at
  ///     once.
  ///   - most: the most requests, if different.
  ///   - connections: the connections of each transfer.
  ///   - gate: where stopped answers wait before their end is reported to the manager.
  @discardableResult
  static func with(
    _ resources: [FaultScript.Resource], active: Int = 1, atMost most: Int? = nil,
    connections: Int = 1, hooks: Hooks = Hooks(), gate: StepGate = StepGate(isOpen: true),
    disk: any Disk = POSIXDisk(),
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (QueueFixture) async throws -> Void
  ) async throws -> History {
    let limit = most ?? active
    return try await DownloadFixture.with(resources) { fixture in
      let concurrentSets = ConcurrencyMonitor(fixture.server, limit: limit)
      let transport = try ClosingTransport(fixture.server, gate: gate)
      let history = try await concurrentSets.watch {
        try await fixture.queue(
          active: active, connections: connections, hooks: hooks, transport: transport,
          disk: disk, body)
      }
      history.expectSound(sourceLocation: sourceLocation)
      let snapshot = fixture.server.snapshot
      let requests = snapshot.requests.map {
        "\($0.path) on \($0.connection): \($0.bodyBytesSent) \($0.outcome?.rawValue ?? "-")"
      }
      // The server may detect the end of a request that was stopped before its answer later than it
      // gets the next one.
      let counted = snapshot.requests.filter {
        $0.outcome != .abandoned || transport.hasSeenClose(of: $0)
      }
      let crowd = concurrentSets.most(of: counted)
      #expect(
        crowd.files <= limit && crowd.requests <= limit * connections,
        "\(requests); \(history)", sourceLocation: sourceLocation)
      return history
    }
  }

  /// A download of the file with that name.
  func request(
    _ name: String, _ change: (inout DownloadRequest) throws -> Void = { _ in }
  ) throws -> TransferRequest {
    TransferRequest(
      .download(
        try base.request("/\(name)", as: name) {
          $0.connections = connections
          $0.retry.retries = 0
          try change(&$0)
        }))
  }

  /// Adds downloads of the files with these names.
  func add(_ names: String...) async throws -> [Transfer] {
    try await manager.add(try names.map { try request($0) })
  }

  /// Returns when the server holds the transfer midway, and its bytes have arrived.
  func hold(_ transfer: Transfer) async throws {
    try await server.waitForHeld(path(transfer), count: min(connections, 2))
    try await log.wait(for: "hold") { $0.bytes(of: transfer).contains { $0 > 0 } }
  }

  /// Lets the transfer, if it is held, and later requests for it run to the end.
  func release(_ transfer: Transfer) {
    server.setFaults(path(transfer), [])
    server.release(path(transfer))
  }

  func path(_ transfer: Transfer) -> String { "/\(name(transfer))" }

  func name(_ transfer: Transfer) -> String {
    transfer.url.map { String($0.description.split(separator: "/").last ?? "") } ?? ""
  }

  /// The requests for its file.
  func requests(_ transfer: Transfer) -> [RequestRecord] {
    server.snapshot.requests(path(transfer))
  }

  /// The names of requested files, in order.
  var asked: [String] { server.snapshot.requests.map { String($0.path.dropFirst()) } }

  /// The same, without requests that follow another one for their file.
  var order: [String] {
    asked.reduce(into: []) { if $0.last != $1 { $0.append($1) } }
  }

  func expectWhole(
    _ transfer: Transfer, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let name = name(transfer)
    #expect(
      try base.isWhole(name, seed: .of(name), length: Self.length), "\(name) is another",
      sourceLocation: sourceLocation)
  }

  /// The states of the transfers, in list order.
  var states: [TransferState] {
    get async { await manager.summaries().map(\.state) }
  }
}

extension DownloadFixture {
  /// Runs `body` with a manager, which is shut down afterwards; returns all its events.
  /// - Parameter store: the store that the manager opens, and leaves to the next one.
  func queue(
    active: Int = 1, connections: Int = 1, hooks: Hooks = Hooks(), store: (any Store)? = nil,
    transport: ClosingTransport? = nil, disk: any Disk = POSIXDisk(),
    register: (TransferManager) async -> Void = { _ in },
    _ body: (QueueFixture) async throws -> Void
  ) async throws -> History {
    var configuration = TransferManager.Configuration()
    configuration.maximumActive = active
    configuration.maximumActivePerHost = max(active, 4)
    configuration.idleTimeout = .seconds(120)
    let transport = try transport ?? ClosingTransport(server, gate: StepGate(isOpen: true))
    let engine = Engine(
      transport: transport, disk: disk, io: BlockingIO(), clock: SystemClock(),
      configuration: configuration, hooks: hooks, executors: LoopExecutor.all,
      network: SystemNetwork(), programs: LinuxPrograms())
    let manager = TransferManager(engine: engine, store: store ?? MemoryStore())
    let log = EventLog(of: manager)
    func end() async {
      transport.gate.open()
      await manager.shutdown()
      await transport.shutdown()
    }
    do {
      await register(manager)
      if store != nil { try await manager.coordinator.open() }
      try await body(
        QueueFixture(base: self, manager: manager, log: log, connections: connections))
    } catch {
      await end()
      throw error
    }
    await end()
    return await log.whole()
  }
}

extension FaultScript.Resource {
  /// A file without faults.
  static func plain(_ name: String) -> Self {
    .init("/\(name)", seed: .of(name), length: Int64(QueueFixture.length))
  }

  /// A file whose answers stop midway until they are released.
  static func held(_ name: String) -> Self {
    plain(name).with { $0.faults = [Fault(.stall(after: Int64(QueueFixture.stallOffset)))] }
  }

  /// A file whose answers break off midway.
  static func broken(_ name: String) -> Self {
    plain(name).with { $0.faults = [Fault(.close(after: Int64(QueueFixture.stallOffset)))] }
  }
}

extension UInt64 {
  /// The seed of the file with that name.
  static func of(_ name: String) -> UInt64 { name.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) } }
}

/// The result of a transfer, for a caller that awaits it.
func outcome(_ transfer: Transfer) async -> Result<TransferResult, TransferError> {
  do throws(TransferError) {
    return .success(try await transfer.result)
  } catch {
    return .failure(error)
  }
}

/// Why a transfer did not complete; nil if it did.
func code(_ transfer: Transfer) async -> TransferError.Code? {
  if case .failure(let error) = await outcome(transfer) { error.code } else { nil }
}
