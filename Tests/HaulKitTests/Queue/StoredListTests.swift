import FoundationEssentials
import HaulCore
import HaulFiles
import HaulHTTP
import HaulKit
import HaulStore
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// A manager with a directory, as a program opens it.
@Suite(.timeLimit(.minutes(10))) struct StoredListTests {
  /// Opens the stored list, and shuts its manager down afterwards.
  private func open(
    _ fixture: DownloadFixture, _ configuration: TransferManager.Configuration = .init(),
    ifDamaged: DamagedStorePolicy = .refuse, steps: [String: StepClosure] = [:],
    _ body: (TransferManager) async throws -> Void
  ) async throws {
    let manager = try await TransferManager(
      directory: fixture.path("queue"), configuration, ifDamaged: ifDamaged, steps: steps)
    do {
      try await body(manager)
    } catch {
      await manager.shutdown()
      throw error
    }
    await manager.shutdown()
  }

  private func refusal(
    _ body: () async throws -> Void
  ) async throws -> TransferError {
    do {
      try await body()
    } catch let error as TransferError {
      return error
    }
    throw TransferError(.internal, "it was not refused")
  }

  @Test func `A stored list reopens with its transfers and continues by itself`() async throws {
    try await DownloadFixture.with([.held("a"), .held("b")]) { fixture in
      var added: [Transfer] = []
      try await open(fixture) { manager in
        added = try await manager.add(
          [
            TransferRequest(.download(try fixture.request("/a", as: "a") { $0.connections = 1 })),
            TransferRequest(.download(try fixture.request("/b", as: "b"))),
          ], key: "both")
        try await added[1].pause()
        try await fixture.server.waitForHeld("/a")
      }
      fixture.server.setFaults("/a", [])
      let ids = added.map(\.id)
      try await open(fixture) { manager in
        #expect(await manager.summaries().map(\.id) == ids)
        let again = try await manager.add([], key: "both")
        #expect(again.map(\.id) == ids)
        await manager.waitUntilEmpty()
        #expect(await manager.summaries().map(\.state) == [.completed, .paused])
        #expect(try fixture.isWhole("a", seed: .of("a"), length: QueueFixture.length))
      }
    }
  }

  @Test func `A new program finds the handles of the transfers that it added before`() async throws
  {
    try await DownloadFixture.with([.plain("a"), .plain("b")]) { fixture in
      var ids: [TransferID] = []
      try await open(fixture) { manager in
        await manager.suspend()
        var requests = try ["a", "b"].map { (name: String) in
          TransferRequest(.download(try fixture.request("/\(name)", as: name)))
        }
        requests[1].identifier = "mine"
        requests[1].group = "g"
        ids = try await manager.add(requests).map(\.id)
      }
      try await open(fixture) { manager in
        let a = try #require(try await manager.transfer(ids[0]))
        let address = try ResourceURL(fixture.server.url("/a"))
        #expect(a.id == ids[0] && a.url == address)
        #expect(try await manager.transfers().map(\.id) == ids)
        #expect(try await manager.transfers(of: .group("g")).map(\.id) == [ids[1]])
        let b = try #require(try await manager.transfer(identifier: "mine"))
        #expect(b.id == ids[1])
        #expect(try await a.result.state == .completed)
        #expect(try await b.result.state == .completed)
        try await a.remove()
        #expect(try await manager.transfer(ids[0]) == nil)
        #expect(try await manager.transfer(identifier: "another's") == nil)
      }
    }
  }

  @Test func `Concurrent additions of one identifier return the same transfer`() async throws {
    try await DownloadFixture.with([]) { fixture in
      try await open(fixture) { manager in
        await manager.suspend()
        var request = TransferRequest(.download(try fixture.request("/a", as: "a")))
        request.identifier = "mine"
        let same = request
        let all = try await withThrowingTaskGroup(of: Transfer.self) { group in
          for _ in 0..<8 { group.addTask { try await manager.add(same) } }
          return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(all.count == 8 && Set(all.map(\.id)).count == 1)
        #expect(await manager.counts == [.queued: 1])
      }
    }
  }

  @Test(arguments: [false, true])
  func `A start that was requested before the list was closed goes first when it is opened`(
    isPaused: Bool
  ) async throws {
    try await DownloadFixture.with([]) { fixture in
      var configuration = TransferManager.Configuration()
      (configuration.maximumActive, configuration.isSuspended) = (1, true)
      let order = NIOLockedValueBox<[String]>([])
      let steps: [String: StepClosure] = [
        "note": { context in order.withLockedValue { $0.append(context.input ?? "") } }
      ]
      try await open(fixture, configuration, steps: steps) { manager in
        let added = try await manager.add((1...4).map { .step("note", input: "\($0)") })
        if isPaused { try await added[3].pause() }
        try await added[3].start()
        try await added[2].start()
      }
      configuration.isSuspended = false
      try await open(fixture, configuration, steps: steps) { manager in
        await manager.waitUntilEmpty()
      }
      #expect(order.withLockedValue { $0 } == ["4", "3", "1", "2"])
    }
  }

  @Test func `A stored step is found by its name, and its dependent follows it`() async throws {
    try await DownloadFixture.with([]) { fixture in
      let gate = StepGate()
      var first = TransferRequest.step("unpack", input: "one")
      first.identifier = "first"
      var second = TransferRequest.step("unpack", input: "two")
      second.after = ["first"]
      let requests = [first, second]
      try await open(fixture, steps: ["unpack": gate.spin()]) { manager in
        _ = try await manager.add(requests)
        await gate.waitForArrivals(1)
        _ = try await manager.pause(.all)
      }
      let again = StepGate()
      again.open()
      try await open(fixture, steps: ["unpack": again.spin(times: 0)]) { manager in
        _ = try await manager.resume(.all)
        await manager.waitUntilEmpty()
        #expect(await manager.summaries().map(\.state) == [.completed, .completed])
      }
    }
  }

  @Test func `An id in use is not given to another transfer`() async throws {
    let store = MemoryStore()
    var configuration = TransferManager.Configuration()
    configuration.isSuspended = true
    var ids: [TransferID] = []
    // Both create the same ids.
    for _ in 1...2 {
      let transport = try HTTPTransport(HTTPTransport.Settings())
      let manager = TransferManager(
        engine: Engine(
          transport: transport, disk: POSIXDisk(), io: BlockingIO(), clock: SystemClock(),
          configuration: configuration, seed: 7), store: store)
      try await manager.coordinator.open()
      ids.append(contentsOf: try await manager.add([.step("a"), .step("b")]).map(\.id))
      await manager.shutdown()
      await transport.shutdown()
    }
    #expect(Set(ids).count == 4)
  }

  @Test func `A second manager is refused, and the error names the owner`() async throws {
    try await DownloadFixture.with([]) { fixture in
      try await open(fixture) { _ in
        let error = try await refusal { try await open(fixture) { _ in } }
        #expect(error.code == .inUse)
        #expect(error.message.contains("this process"))
      }
      try await open(fixture) { _ in }
    }
  }

  @Test func `A damaged list is refused unchanged, or moved aside if configured`() async throws {
    try await DownloadFixture.with([.plain("a")]) { fixture in
      try await open(fixture) { manager in
        let a = try await manager.add(
          TransferRequest(.download(try fixture.request("/a", as: "a"))))
        _ = try await a.result
      }
      let database = fixture.path("queue/queue.sqlite")
      let damaged = Data((0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
      try damaged.write(to: URL(filePath: database))
      try FileManager.default.removeItem(atPath: fixture.path("queue/queue.lock"))
      let error = try await refusal { try await open(fixture) { _ in } }
      #expect(error.code == .io)
      #expect(try Data(contentsOf: URL(filePath: database)) == damaged)
      try await open(fixture, ifDamaged: .startEmpty) { manager in
        #expect(manager.damage?.message.contains("queue.sqlite.corrupt-") == true)
        #expect(await manager.summaries().isEmpty)
      }
      #expect(try fixture.isWhole("a", seed: .of("a"), length: QueueFixture.length))
      try await open(fixture) { #expect($0.damage == nil) }
    }
  }
}
