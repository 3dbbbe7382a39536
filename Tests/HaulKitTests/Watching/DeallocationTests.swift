import HaulCore
import HaulFiles
import HaulHTTP
import HaulKit
import HaulTesting
import Testing

/// Objects that are no longer needed are released.
@Suite(.timeLimit(.minutes(10))) struct DeallocationTests {
  /// The objects that must be released.
  private final class WeakReferences: Sendable {
    weak let manager: TransferManager?
    weak let engine: Engine?

    init(_ manager: TransferManager, _ engine: Engine) {
      self.manager = manager
      self.engine = engine
    }
  }

  /// The objects that outlive the manager here.
  private struct Watchers {
    var all: TransferEvents
    var one: TransferEvents
    var list: QueueEvents
    var rows: TransferList
  }

  private func engine(_ transport: HTTPTransport) -> Engine {
    var configuration = TransferManager.Configuration()
    configuration.idleTimeout = .seconds(120)
    return Engine(
      transport: transport, disk: POSIXDisk(), io: BlockingIO(), clock: SystemClock(),
      configuration: configuration)
  }

  /// Uses all parts of a manager, in every state of a transfer.
  private func use(
    _ fixture: DownloadFixture, _ transport: HTTPTransport
  ) async throws -> (WeakReferences, Watchers) {
    let engine = engine(transport)
    let manager = TransferManager(engine: engine)
    let gate = StepGate()
    manager.register(step: "spin", gate.spin())
    let log = EventLog(of: manager)
    let queue = QueueFixture(base: fixture, manager: manager, log: log)
    var requests = try ["done", "failed", "held", "paused"].map { name in
      var request = try queue.request(name)
      request.group = "g"
      return request
    }
    requests.append(.step("spin", input: "1"))
    let added = try await manager.add(requests)
    let watchers = Watchers(
      all: manager.events(), one: added[2].events(), list: manager.events(after: nil),
      rows: await TransferList(manager))
    let waiters = [
      Task { _ = await code(added[2]) },
      Task { _ = try? await manager.group("g").completion() },
      Task { await manager.waitUntilEmpty() },
      added[3].onEnd { _ in Issue.record("it did not end") },
    ]
    _ = try await added[0].result
    try await queue.hold(added[2])
    try await queue.hold(added[3])
    try await added[3].pause()
    await gate.waitForArrivals(1)
    await manager.shutdown()
    for waiter in waiters { await waiter.value }
    return (WeakReferences(manager, engine), watchers)
  }

  @Test func `A manager is released after its shutdown, even with remaining subscribers`()
    async throws
  {
    let names: [FaultScript.Resource] = [
      .plain("done"), .broken("failed"), .held("held"), .held("paused"),
    ]
    try await DownloadFixture.with(names) { fixture in
      let transport = try HTTPTransport(HTTPTransport.Settings())
      let (remains, watchers) = try await use(fixture, transport)
      await transport.shutdown()
      try await until { remains.manager == nil && remains.engine == nil }
      // Subscribers get the earlier events, and the end.
      for await _ in watchers.all {}
      for await _ in watchers.one {}
      for await _ in watchers.list {}
      try await until { await watchers.rows.hasEnded }
    }
  }

  @Test func `A manager without references ends its streams, even without a shutdown`() async throws
  {
    try await DownloadFixture.with([.plain("a")]) { fixture in
      let transport = try HTTPTransport(HTTPTransport.Settings())
      let (remains, events) = try await drop(fixture, transport)
      try await until { remains.manager == nil }
      var reported: [TransferEvent] = []
      for await event in events { reported.append(event) }
      #expect(reported.compactMap(\.number) == [1, 2])
      await transport.shutdown()
      try await until { remains.engine == nil }
    }
  }

  private func drop(
    _ fixture: DownloadFixture, _ transport: HTTPTransport
  ) async throws -> (WeakReferences, TransferEvents) {
    let engine = engine(transport)
    let manager = TransferManager(engine: engine)
    let events = manager.events()
    let transfer = try await manager.add(try fixture.request("/a", as: "a"))
    _ = try await transfer.result
    await manager.waitUntilEmpty()
    return (WeakReferences(manager, engine), events)
  }

  @MainActor
  @Test func `A list without references is released, and uses no timer`() async throws {
    let clock = ManualClock()
    try await StepFixture.with(clock: clock) { fixture in
      try await fixture.run(10)
      var list: TransferList? = TransferList(fixture.manager)
      weak let gone = list
      try await until { list?.rows.count == 10 }
      list = nil
      try await until { gone == nil }
      try await until { clock.sleeperCount == 0 }
    }
  }
}
