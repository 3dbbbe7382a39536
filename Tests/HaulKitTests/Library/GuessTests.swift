import FoundationEssentials
import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// What a developer who knows URLSession, Alamofire or Nuke types first.
@Suite(.timeLimit(.minutes(10))) struct GuessTests {
  private static let file = FaultScript.Resource("/a.bin", seed: 3, length: 300_000)

  /// The code of what `body` throws.
  private func code(_ body: () async throws -> Void) async -> TransferError.Code? {
    do {
      try await body()
      return nil
    } catch {
      return (error as? TransferError)?.code
    }
  }

  /// A manager that starts nothing, so that no step needs a closure.
  private func suspended(_ body: (TransferManager) async throws -> Void) async throws {
    var configuration = TransferManager.Configuration()
    configuration.isSuspended = true
    try await withTransferManager(configuration) { try await body($0) }
  }

  @Test func `An address is a URL, a text or a ResourceURL`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      let text = fixture.server.url("/a.bin")
      let url = try #require(URL(string: text))
      let own = try ResourceURL(url)
      try await fixture.withManager { manager in
        let added = [
          try await manager.add(url, to: .file(fixture.path("1"))),
          try await manager.add(text, to: .file(fixture.path("2"))),
          try await manager.add(own, to: .file(fixture.path("3"))) { $0.connections = 1 },
        ]
        for transfer in added { #expect(try await transfer.result.bytes == 300_000) }
        let result = try await manager.download(url, to: .file(fixture.path("4")))
        #expect(result.path == fixture.path("4"))
        #expect(try await manager.probe(url).length == 300_000)
        #expect(try await manager.probe(text).length == 300_000)
      }
      for name in ["1", "2", "3", "4"] {
        #expect(try fixture.isWhole(name, seed: 3, length: 300_000))
      }
      // A ResourceURL is checked already: this needs no `try`.
      #expect(TransferRequest.download(own, to: .stream).download?.url == own)
      #expect(try TransferRequest.download(url, to: .stream).download?.url == own)
    }
  }

  @Test func `A URL that is no web address is refused by name`() async throws {
    try await suspended { manager in
      let file = URL(filePath: "/tmp/a.bin")
      #expect(await code { try await manager.add(file, to: .stream) } == .unsupportedScheme)
      #expect(await code { try await manager.add("a.bin", to: .stream) } == .badURL)
      #expect(
        await code { try await manager.download(file, to: .file("/x")) } == .unsupportedScheme)
      #expect(await code { _ = try await manager.probe("ftp://h/a") } == .unsupportedScheme)
      #expect(await code { try await manager.add(Data(), to: file) } == .unsupportedScheme)
      #expect(await manager.summaries().isEmpty)
    }
  }

  @Test func `Handles, ids, arrays and groups are selections`() async throws {
    try await suspended { manager in
      var request = TransferRequest.step("s")
      let (a, b) = (try await manager.add(request), try await manager.add(request))
      request.group = "g"
      let (c, d) = (try await manager.add(request), try await manager.add(request))
      func paused() async -> [Bool] { await manager.summaries().map { $0.state == .paused } }
      _ = try await manager.pause(a)
      #expect(await paused() == [true, false, false, false])
      _ = try await manager.pause([a, b])
      #expect(await paused() == [true, true, false, false])
      _ = try await manager.resume([a.id, b.id])
      _ = try await manager.pause(manager.group("g"))
      #expect(await paused() == [false, false, true, true])
      let both: [TransferSelection] = [.group("g"), .ids([c.id, a.id])]
      _ = try await manager.resume(both)
      #expect(await paused() == [false, false, false, false])
      #expect(try await manager.transfers(of: both) == [c, d, a], "each of them once")
      #expect(await manager.summaries(of: [d]).map(\.id) == [d.id])
      try await manager.cancelAll()
      #expect(await manager.counts == [.cancelled: 4])
    }
  }

  @Test func `All are paused, resumed and cancelled, and those that have ended stay so`()
    async throws
  {
    try await suspended { manager in
      let added = try await manager.add((0..<3).map { _ in TransferRequest.step("s") })
      try await added[2].cancel()
      await manager.pauseAll()
      #expect(await manager.counts == [.paused: 2, .cancelled: 1])
      try await manager.resumeAll()
      #expect(await manager.counts == [.queued: 2, .cancelled: 1])
      try await manager.cancelAll()
      #expect(await manager.counts == [.cancelled: 3])
    }
  }

  @Test func `Handles are positions and dependencies, and texts are identifiers`() async throws {
    try await suspended { manager in
      var request = TransferRequest.step("s")
      request.identifier = "first"
      let a = try await manager.add(request)
      let b = try await manager.add(.step("s"))
      try await b.move(to: .before(a))
      #expect(await manager.summaries().map(\.id) == [b.id, a.id])
      _ = try await manager.move(b, to: .after(a))
      #expect(await manager.summaries().map(\.id) == [a.id, b.id])
      var next = TransferRequest.step("s")
      next.after = [b]
      #expect(next.after.map(\.dependency) == [.transfer(b.id)])
      next.after.append("first")
      let c = try await manager.add(next)
      let reason = await c.waitReason
      #expect([a, b].contains { reason == .dependency($0.id, isBlocked: false) })
      next.after = [a, b]
      next.after = [a.id, b.id]
      #expect(next.after.map(\.dependency) == [.transfer(a.id), .transfer(b.id)])
      next.after = ["nobody"]
      #expect(await code { try await manager.add(next) } == .dependencyFailed)
    }
  }

  @Test func `Header fields are one type, from a dictionary or from pairs`() throws {
    var request = DownloadRequest(url: try ResourceURL("https://h.example/a"), to: .stream)
    request.headers = ["Accept": "text/html", "X-A": "1"]
    #expect(request.headers == [("Accept", "text/html"), ("X-A", "1")])
    request.headers["x-a"] = "2"
    request.headers["X-B"] = "3"
    #expect(request.headers.map(\.value) == ["text/html", "2", "3"])
    request.headers.append("X-B", "4")
    request.headers["X-b"] = "5"
    #expect(request.headers.map(\.name) == ["Accept", "x-a", "X-b"])
    request.headers["accept"] = nil
    #expect(request.headers.count == 2 && request.headers["Accept"] == nil)
    request.headers = [:]
    #expect(request.headers.isEmpty)
  }

  @Test func `Times are dates, and priorities have everyday names`() async throws {
    try await suspended { manager in
      await manager.unsuspend()
      var request = TransferRequest.step("s")
      let start = Date(timeIntervalSinceNow: 3600)
      (request.startsAt, request.priority) = (start, .high)
      let transfer = try await manager.add(request)
      let reason = try #require(await transfer.waitReason)
      let until = try #require(reason.until)
      #expect(abs(until.timeIntervalSince(start)) < 1)
      #expect(reason.description(at: Date()).hasPrefix("starts at "))
      #expect(await transfer.summary?.priority == .userInitiated)
      #expect(TransferRequest.Priority.low < .normal && .normal < TransferRequest.Priority.high)
    }
  }

  @Test func `The present limits, rate and request can be read`() async throws {
    try await suspended { manager in
      await manager.setLimits(maximumActive: 3, maximumConnections: 7)
      manager.setRateLimit(5 << 20)
      let workdays = Schedule([Schedule.Window(.workdays, from: 0, to: 60)])
      try await manager.setSchedule(workdays)
      let configuration = manager.configuration
      #expect(configuration.maximumActive == 3 && configuration.maximumConnections == 7)
      #expect(configuration.maximumActivePerHost == 4 && configuration.connectionsPerHost == 16)
      #expect(configuration.rateLimit == 5 << 20 && configuration.isSuspended)
      #expect(configuration.schedule == workdays)
      var wanted = try TransferRequest.download("https://h.example/a", to: .stream) {
        $0.connections = 2
      }
      wanted.userInfo = ["view": "3"]
      let transfer = try await manager.add(wanted)
      try await transfer.setPriority(.low)
      try await transfer.set { $0.group = "g" }
      let request = try #require(try await transfer.request)
      #expect(request.download?.connections == 2 && request.userInfo == ["view": "3"])
      #expect(request.priority == .utility && request.group == "g")
      try await transfer.remove()
      #expect(try await transfer.request == nil)
    }
  }

  @Test func `A row says percent and seconds`() {
    let row = TransferList.Row(
      id: TransferID("00000001")!, name: "a", fraction: 0.509, bytes: 509, total: 1000, rate: 10)
    #expect(row.percent == 50 && row.secondsLeft == 49.1)
    let unknown = TransferList.Row(id: TransferID("00000001")!, name: "a", bytes: 5, rate: 10)
    #expect(unknown.percent == nil && unknown.secondsLeft == nil)
  }

  @Test func `The mistakes of a caller are refused, and are no bug of the library`() async throws {
    try await suspended { manager in
      let url = try ResourceURL("https://h.example/a")
      let stream = try await manager.add(url, to: .stream)
      _ = try await stream.bytes
      #expect(await code { _ = try await stream.bytes } == .refused)
      let file = try await manager.add(url, to: .file("/x"))
      #expect(await code { _ = try await file.bytes } == .refused)
      #expect(await code { try await manager.download(url, to: .stream) } == .refused)
      let nowhere = Schedule([], timeZone: "Nowhere/Town")
      #expect(await code { try await manager.setSchedule(nowhere) } == .refused)
      _ = try await manager.remove([stream, file])
      let step = try await manager.add(.step("unknown"))
      await manager.unsuspend()
      #expect(await code { _ = try await step.result } == .refused)
    }
  }
}
