import Dispatch
import HaulCore
import HaulFiles
import HaulHTTP
import HaulKit
import HaulLibC
import HaulStore
import HaulTesting
import Testing

/// A user interface that adds, follows and commands on the main actor is never blocked.
@MainActor @Suite(.timeLimit(.minutes(10))) struct MainActorTests {
  /// The most elements that a reader takes before others of its actor can run.
  private static let most = 32

  init() { MainThread.begin() }

  @concurrent private nonisolated func onAnotherThread() async -> Bool { MainThread.isHere }

  /// - Returns: whether there was any.
  @concurrent private nonisolated func fill(
    _ path: String, with text: String
  ) async throws -> Bool {
    let turn = DispatchSemaphore(value: 0)
    return try await BlockingIO().run {
      let file = open(path, O_WRONLY)
      defer { close(file) }
      DispatchQueue.main.async { turn.signal() }
      let hadTurn = turn.wait(timeout: .now() + 20) == .success
      _ = text.utf8CString.withUnsafeBytes { bytes in
        write(file, bytes.baseAddress, bytes.count - 1)
      }
      return hadTurn
    }
  }

  @Test func `The main-actor check of these tests works`() async throws {
    #expect(MainThread.isHere)
    async let elsewhere = onAnotherThread()
    #expect(await !elsewhere)
    await Task.yield()
    #expect(MainThread.isHere)
  }

  @Test func `A reader of all events with a backlog lets other tasks of its actor run`()
    async throws
  {
    try await StepFixture.with(kept: .max) { fixture in
      let events = fixture.manager.events()
      try await fixture.run(1000)
      let turns = MainActorCounter()
      await turns.count {
        for await event in events {
          turns.note()
          if event.number == 1000 { break }
        }
        // Without a `for` loop, which leaves the actor by itself.
        var iterator = events.makeAsyncIterator()
        for _ in 1001...2000 {
          if await iterator.next() != nil { turns.note() }
        }
      }
      #expect(turns.noted == 2000)
      #expect(turns.most <= Self.most)
    }
  }

  @Test func `A late reader of a list lets other tasks of its actor run`() async throws {
    try await StepFixture.with { fixture in
      try await fixture.run(1000)
      let missed = fixture.manager.events(after: 0)
      let turns = MainActorCounter()
      await turns.count {
        for await event in missed {
          turns.note()
          if event.number == 1000 { break }
        }
        var iterator = missed.makeAsyncIterator()
        for _ in 1001...2000 {
          if await iterator.next() != nil { turns.note() }
        }
      }
      #expect(turns.noted == 2000)
      #expect(turns.most <= Self.most)
    }
  }

  @Test func `A reader of bytes with a backlog lets other tasks of its actor run`() async throws {
    let length: Int64 = 16 << 20
    let file = FaultScript.Resource("/file.bin", seed: 7, length: length)
    try await DownloadFixture.with([file]) { fixture in
      let run = try await StreamRun(try fixture.request("/file.bin") { $0.destination = .stream })
      try await until { run.bytes.bufferedBytes == length }
      let turns = MainActorCounter()
      try await turns.count {
        for try await _ in run.bytes { turns.note() }
      }
      #expect(turns.noted > Self.most)
      #expect(turns.most <= Self.most)
      await run.manager.shutdown()
    }
  }

  @Test func `A list is opened off the main actor, even if it waits for a certificate file`()
    async throws
  {
    try await DownloadFixture.with([]) { fixture in
      let (path, directory) = (fixture.path("authorities.pem"), fixture.path("list"))
      try #require(mkfifo(path, 0o600) == 0)
      async let hadTurn = fill(path, with: fixture.server.certificateAuthorityPEM)
      var configuration = TransferManager.Configuration()
      configuration.certificateAuthorities = path
      let manager = try await TransferManager(directory: directory, configuration)
      #expect(try await hadTurn)
      await manager.shutdown()
    }
  }

  @Test func `No blocking call runs on the main actor, from opening a list to its end`()
    async throws
  {
    let record = MainActorRecord()
    let names = (0..<40).map { "f\($0)" }
    try await DownloadFixture.with(names.map { .plain($0) }) { fixture in
      var hooks = Hooks()
      hooks.reached = { record.note("\($0)") }
      var options = SQLiteStore.Options()
      options.reached = { record.note("storing") }
      let (clock, transport) = (SystemClock(), try HTTPTransport(HTTPTransport.Settings()))
      let store = try await SQLiteStore(
        directory: fixture.path("list"), clock: clock, options: options)
      let disk = CountingDisk(POSIXDisk(), willCall: { record.note("disk") })
      let engine = Engine(
        transport: WatchedTransport(base: transport, record: record), disk: disk,
        io: BlockingIO(clock: clock), clock: clock, configuration: TransferManager.Configuration(),
        hooks: hooks,
        executors: LoopExecutor.all, network: SystemNetwork())
      let manager = TransferManager(engine: engine, store: store)
      manager.register(step: "step") { _ in record.note("step") }
      try await manager.coordinator.open()
      let events = manager.events()
      let list = TransferList(manager)
      var requests = try names.map { name in
        var request = TransferRequest(.download(try fixture.request("/\(name)", as: name)))
        request.group = "all"
        return request
      }
      requests.append(.step("step"))
      let added = try await manager.add(requests)
      // Calls during which the name is chosen, a file is verified, bytes are deleted, and bytes are
      // read by the caller.
      _ = try await manager.pause([added[0].id])
      _ = try await manager.resume([added[0].id])
      _ = try await manager.cancel([added[1].id])
      _ = try await manager.retry([added[1].id])
      _ = try await manager.group("all").completion()
      await manager.waitUntilEmpty()
      try await FileVerifier.verify(path: fixture.path("f2"), checksums: [])
      _ = try await manager.probe(try fixture.request("/f3", as: "probed"))
      let stream = try await manager.add(
        try fixture.request("/f4") { $0.destination = .stream })
      for try await _ in try await manager.bytes(of: stream) {}
      _ = try await manager.remove(.ids([added[2].id]))
      await manager.shutdown()
      for await event in events { _ = event }
      try await until { list.hasEnded }
      await transport.shutdown()
    }
    #expect(record.onMain == [])
    #expect(record.elsewhere > names.count * 10)
  }
}

/// The real network, which reports on which actor it was called.
private struct WatchedTransport: Transport {
  let base: HTTPTransport
  let record: MainActorRecord

  func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    try await base.fetch(request)
  }

  func begin(
    _ request: FetchRequest,
    _ answer: @escaping @Sendable (Result<FetchResponse, any Error>) -> Void
  ) -> (any FetchHandle)? {
    record.note("request")
    return base.begin(request) { result in
      record.note("answer")
      answer(result)
    }
  }
}
