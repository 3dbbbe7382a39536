import HaulKit
import HaulStore
import HaulTesting
import Testing

/// Values at the ends of their ranges, from servers, transports and callers.
@Suite(.timeLimit(.minutes(10))) struct ExtremeValueTests {
  /// Answers each request with these header fields and this body.
  private struct Fixed: Transport {
    let headers: HeaderFields
    let body: @Sendable () -> FetchResponse.Body

    func fetch(_ request: FetchRequest) async throws -> FetchResponse {
      FetchResponse(
        head: ResponseHead(status: 200, headers: headers, url: request.url), body: body())
    }
  }

  private static func bytes(_ text: String, ends: Bool = true) -> FetchResponse.Body {
    AsyncThrowingStream<any ByteChunk, any Error> { continuation in
      continuation.yield(Array(text.utf8))
      if ends { continuation.finish() }
    }
  }

  private static func stream(_ name: String) throws -> TransferRequest {
    var request = TransferRequest.download(try ResourceURL("http://host/\(name)"), to: .stream)
    request.group = "g"
    request.download?.retry.retries = 0
    return request
  }

  @Test func `Values print as the documentation names them`() {
    #expect("\(TransferError.Code.httpStatus)" == "http-status")
    #expect("\(TransferState.publishing)" == "publishing")
    #expect("\(CommandRefusal.isCompleted)" == "isCompleted")
    #expect("\(TransferEvent.Initiator.user)" == "user")
    let cases = TransferError.Code.allCases
    #expect(cases.map { "\($0)" } == cases.map(\.rawValue))
  }

  @Test func `Announced lengths whose sum overflows do not stop the program`() async throws {
    let transport = Fixed(headers: ["Content-Length": "\(Int64.max)"]) {
      Self.bytes("x", ends: false)
    }
    let manager = try TransferManager(transport: transport)
    try await manager.add([try Self.stream("a"), try Self.stream("b")])
    try await until { try await manager.group("g").progress.total == .max }
    await manager.shutdown()
  }

  @Test func `A transport that delivers more bytes than announced fails the download`()
    async throws
  {
    let transport = Fixed(headers: ["Content-Length": "2"]) { Self.bytes("long") }
    let manager = try TransferManager(transport: transport)
    let transfer = try await manager.add(try Self.stream("a"))
    let error = await #expect(throws: TransferError.self) { try await transfer.result }
    #expect(error?.code == .protocolViolation)
    await manager.shutdown()
  }

  /// Counts more bytes than it has.
  private struct ShortChunk: ByteChunk {
    let count = 1 << 20

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
      try Array("short".utf8).withUnsafeBytes(body)
    }
  }

  @Test(arguments: [false, true])
  func `A chunk with fewer bytes than it counts fails the download`(isFile: Bool) async throws {
    try await DownloadFixture.with([]) { fixture in
      let transport = Fixed(headers: ["Content-Length": "\(1 << 20)", "ETag": "\"a\""]) {
        AsyncThrowingStream<any ByteChunk, any Error> { continuation in
          continuation.yield(ShortChunk())
          continuation.finish()
        }
      }
      let manager = try TransferManager(transport: transport)
      let file = try TransferRequest.download(
        ResourceURL("http://host/a"), to: .file(fixture.path("a")))
      let transfer = try await manager.add(isFile ? file : Self.stream("a"))
      let error = await #expect(throws: TransferError.self) { try await transfer.result }
      #expect(error?.code == .protocolViolation)
      #expect(try fixture.names().isEmpty)
      await manager.shutdown()
    }
  }

  @Test func `A rate limit of 0 is no limit, and the longest timeout is accepted`() async throws {
    let file = FaultScript.Resource("/f", length: 100_000)
    try await DownloadFixture.with([file]) { fixture in
      let outcome = try await fixture.run(
        fixture.request("/f"),
        configure: {
          $0.rateLimit = 0
          $0.connectTimeout = .seconds(Int64.max)
        })
      #expect(outcome?.result.state == .completed)
    }
  }

  @Test func `The remaining time is a number for all values`() {
    #expect(TransferProgress(bytes: .min, total: .max, rate: 1).secondsLeft == 1e12)
    #expect(TransferProgress(bytes: 5, total: 1, rate: 1).secondsLeft == 0)
    #expect(TransferProgress(bytes: 0, total: 1, rate: .leastNonzeroMagnitude).secondsLeft == 1e12)
    #expect(TransferProgress(bytes: 0, total: 1, rate: 0).secondsLeft == nil)
  }

  @Test func `Events that were not read before shutdown are there for the next manager`()
    async throws
  {
    try await DownloadFixture.with([]) { fixture in
      let directory = "\(fixture.directory)/queue"
      var configuration = TransferManager.Configuration()
      configuration.isSuspended = true
      let manager = try await TransferManager(directory: directory, configuration)
      let unread = manager.events(after: 0)
      let transfer = try await manager.add(
        .download(try ResourceURL("http://host/f"), to: .directory(fixture.directory)))
      try await transfer.cancel()
      await manager.shutdown()
      for await event in unread {
        if case .reset = event { Issue.record("it would replace what was not read") }
      }
      let next = try await TransferManager(directory: directory, configuration)
      var kinds: [String] = []
      for await event in next.events(after: 0) {
        guard case .transfer(let event) = event else { continue }
        #expect(event.url != nil)
        kinds.append("\(event.kind)".prefix { $0.isLetter }.description)
        if case .finished = event.kind { break }
      }
      #expect(kinds == ["added", "finished"])
      await next.shutdown()
    }
  }
}
