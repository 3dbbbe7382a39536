import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Uploads in a queue that runs one transfer at a time.
@Suite(.timeLimit(.minutes(10))) struct UploadQueueTests {
  /// A queue, with its server and the uploads `a`, `b` and `c`, of which `a` runs.
  private struct Queue {
    let server: HeldServer
    let manager: TransferManager
    let transfers: [Transfer]
    var a: Transfer { transfers[0] }
    var b: Transfer { transfers[1] }
    var c: Transfer { transfers[2] }

    var states: [TransferState] {
      get async {
        var states: [TransferState] = []
        for transfer in transfers { states += [await transfer.state].compactMap(\.self) }
        return states
      }
    }

    /// Returns once exactly these uploads are on their way.
    func runs(_ paths: String...) async throws {
      try await until { server.open == paths }
    }

    /// Lets every upload that runs, and every next one, complete.
    func finish() async throws {
      try await until {
        for path in server.open { server.answer(path) }
        let counts = await manager.counts
        return (counts[.queued] ?? 0) + (counts[.running] ?? 0) == 0
      }
    }
  }

  private static func disk() -> SimulatedDisk {
    let disk = SimulatedDisk()
    disk.makeDirectory("/d")
    disk.put([1, 2, 3], at: "/d/f")
    return disk
  }

  private static func open(
    _ list: MemoryStore, _ server: HeldServer
  ) async throws -> TransferManager {
    var configuration = TransferManager.Configuration()
    configuration.maximumActive = 1
    var ports = PortOverrides(transport: server)
    (ports.disk, ports.network) = (disk(), UnknownNetwork())
    return try await TransferManager(configuration, replacing: ports, steps: [:]) { _ in
      OpenedStore(store: list)
    }
  }

  private static func with(
    _ list: MemoryStore = MemoryStore(), _ body: (Queue) async throws -> Void
  ) async throws {
    let server = HeldServer()
    let manager = try await open(list, server)
    var transfers: [Transfer] = []
    for name in ["a", "b", "c"] {
      transfers.append(
        try await manager.add(
          .upload("/d/f", to: try ResourceURL("http://h.example/\(name)")) {
            $0.retry.retries = 0
          }))
    }
    let queue = Queue(server: server, manager: manager, transfers: transfers)
    try await queue.runs("/a")
    try await body(queue)
    await manager.shutdown()
  }

  enum Stop: CaseIterable {
    case pause, cancel, fail, complete
  }

  @Test(arguments: Stop.allCases)
  func `Whatever happens to an upload, the next one starts by itself`(stop: Stop)
    async throws
  {
    try await Self.with { queue in
      let state: TransferState
      switch stop {
      case .pause:
        try await queue.a.pause()
        state = .paused
      case .cancel:
        try await queue.a.cancel()
        state = .cancelled
      case .fail:
        queue.server.answer("/a", 403)
        state = .failed
      case .complete:
        queue.server.answer("/a")
        state = .completed
      }
      try await queue.runs("/b")
      #expect(await queue.states == [state, .running, .queued])
      #expect(await queue.manager.coordinator.ids(of: .all) == queue.transfers.map(\.id))
      try await queue.finish()
      #expect(await queue.states == [state, .completed, .completed])
      #expect(queue.server.asked == ["/a", "/b", "/c"])
      #expect(queue.server.mostOpen == 1)
    }
  }

  @Test func `A resumed upload waits for a slot, at its old position`() async throws {
    try await Self.with { queue in
      try await queue.a.pause()
      try await queue.runs("/b")
      try await queue.a.resume()
      #expect(await queue.states == [.queued, .running, .queued])
      queue.server.answer("/b")
      try await queue.runs("/a")
      try await queue.finish()
      #expect(queue.server.asked == ["/a", "/b", "/a", "/c"])
      #expect(queue.server.mostOpen == 1)
    }
  }

  @Test func `An upload that is cancelled while paused is cancelled at once, and stays so`()
    async throws
  {
    try await Self.with { queue in
      try await queue.a.pause()
      try await queue.a.cancel()
      #expect(await queue.a.state == .cancelled)
      #expect(await refusal { try await queue.a.resume() }?.refusal == .isCancelled)
      try await queue.finish()
      #expect(await queue.states == [.cancelled, .completed, .completed])
    }
  }

  @Test func `Running, queued and paused uploads are all cancelled`() async throws {
    try await Self.with { queue in
      try await queue.c.pause()
      _ = try await queue.manager.cancel(.all)
      for transfer in queue.transfers {
        let error = await #expect(throws: TransferError.self) { try await transfer.result }
        #expect(error?.code == .cancelled)
      }
      #expect(await queue.states == [.cancelled, .cancelled, .cancelled])
      #expect(queue.server.asked == ["/a"])
    }
  }

  @Test func `A pause parks a queued upload, a cancel ends it, and a resume changes nothing`()
    async throws
  {
    try await Self.with { queue in
      try await queue.c.resume()
      try await queue.b.pause()
      #expect(await queue.states == [.running, .paused, .queued])
      queue.server.answer("/a")
      try await queue.runs("/c")
      try await queue.b.cancel()
      try await queue.finish()
      #expect(await queue.states == [.completed, .cancelled, .completed])
    }
  }

  @Test func `Start respects the limit, and only force exceeds it`() async throws {
    try await Self.with { queue in
      try await queue.c.start()
      #expect(await queue.states == [.running, .queued, .queued])
      queue.server.answer("/a")
      try await queue.runs("/c")
      #expect(queue.server.mostOpen == 1)
      try await queue.b.start(force: true)
      try await queue.runs("/b", "/c")
      try await queue.finish()
      #expect(queue.server.asked == ["/a", "/c", "/b"])
    }
  }

  @Test func `A requeued upload keeps its position, and the list may be reordered`() async throws {
    try await Self.with { queue in
      try await queue.a.requeue()
      try await until { queue.server.asked == ["/a", "/a"] }
      try await queue.a.move(to: .last)
      try await queue.c.move(to: .first)
      try await queue.a.requeue()
      try await queue.runs("/c")
      try await queue.finish()
      #expect(queue.server.asked == ["/a", "/a", "/c", "/b", "/a"])
      #expect(queue.server.mostOpen == 1)
    }
  }

  @Test func `Retry and restart run an ended upload again, at its old position`() async throws {
    try await Self.with { queue in
      queue.server.answer("/a", 403)
      try await queue.runs("/b")
      queue.server.answer("/b")
      try await queue.runs("/c")
      try await queue.b.restart()
      try await queue.a.retry()
      #expect(await queue.states == [.queued, .queued, .running])
      try await queue.finish()
      #expect(await queue.states == [.completed, .completed, .completed])
      #expect(queue.server.asked == ["/a", "/b", "/c", "/a", "/b"])
    }
  }

  @Test func `After the program ends, every upload is there in its state`() async throws {
    let list = MemoryStore()
    try await Self.with(list) { queue in
      queue.server.answer("/a", 403)
      try await queue.runs("/b")
      try await queue.c.pause()
    }
    let server = HeldServer()
    let manager = try await Self.open(list, server)
    try await until { server.open == ["/b"] }
    let states = await manager.counts.filter { $0.value > 0 }
    #expect(states == [.failed: 1, .running: 1, .paused: 1])
    await manager.shutdown()
  }
}
