import HaulCore
import HaulHTTP
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Requests of uploads without a body, or with one in memory.
@Suite(.timeLimit(.minutes(10))) struct HeldExchangeTests {
  /// Counts how often the connection took it.
  private struct Body: HeldBody, AsyncSequence {
    typealias Element = any ByteChunk
    typealias Failure = any Error

    let bytes: [UInt8]
    let taken = NIOLockedValueBox(0)

    func wasTaken() { taken.withLockedValue { $0 += 1 } }

    struct AsyncIterator: AsyncIteratorProtocol {
      mutating func next() async throws -> (any ByteChunk)? {
        Issue.record("it is in memory")
        return nil
      }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
  }

  private func withServer(
    _ fault: Fault.Action,
    _ body: (DownloadFixture, HTTPTransport, ResourceURL) async throws -> Void
  ) async throws {
    let file = FaultScript.Resource("/f", seed: 3, length: 10, faults: [Fault(fault)])
    try await DownloadFixture.with([file]) { fixture in
      let transport = try HTTPTransport(HTTPTransport.Settings())
      do {
        try await body(fixture, transport, try fixture.request("/f").url)
      } catch {
        await transport.shutdown()
        throw error
      }
      await transport.shutdown()
    }
  }

  private static func answer(_ body: String, length: Int) -> Fault.Action {
    .raw(text: "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n\(body)")
  }

  @Test func `The bytes are sent as they are, once, with their length`() async throws {
    let fault = Fault.Action.respond(status: 201, body: "done")
    try await withServer(fault) { (fixture, transport, url) async throws in
      let body = Body(bytes: Array("content".utf8))
      let answer = try await transport.send(SendRequest("PUT", url, body: body, length: 7))
      #expect(answer.head.status == 201 && answer.isWhole)
      #expect(answer.body == Array("done".utf8))
      let request = try #require(fixture.server.snapshot.requests.first)
      #expect(request.body == body.bytes)
      #expect(request.headers["Content-Length"] == "7")
      #expect(body.taken.withLockedValue { $0 } == 1)
    }
  }

  @Test func `An answer that breaks off has its status, and is not whole`() async throws {
    try await withServer(Self.answer("abc", length: 10)) { (_, transport, url) async throws in
      let answer = try await transport.send(SendRequest("DELETE", url))
      #expect(answer.head.status == 200 && !answer.isWhole)
      #expect(answer.body == Array("abc".utf8))
    }
  }

  @Test func `Of a long answer the first MiB is kept`() async throws {
    let text = String(repeating: "a", count: (1 << 20) + 5)
    try await withServer(Self.answer(text, length: text.utf8.count)) {
      (_, transport, url) async throws in
      let answer = try await transport.send(SendRequest("DELETE", url))
      #expect(answer.body.count == 1 << 20 && !answer.isWhole)
    }
  }

  @Test func `A question that is cancelled ends, before its answer and before it is sent`()
    async throws
  {
    try await withServer(.stallBeforeHead) { (fixture, transport, url) async throws in
      let task = Task { try await transport.send(SendRequest("HEAD", url)) }
      try await until { !fixture.server.snapshot.requests.isEmpty }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      let late = Task { () async throws in
        withUnsafeCurrentTask { $0?.cancel() }
        return try await transport.send(SendRequest("HEAD", url))
      }
      await #expect(throws: CancellationError.self) { try await late.value }
    }
  }

  @Test func `An answer without a head is an error`() async throws {
    try await withServer(.raw(text: "")) { (_, transport, url) async throws in
      let error = await #expect(throws: TransferError.self) {
        try await transport.send(SendRequest("PUT", url, body: Body(bytes: [1]), length: 1))
      }
      #expect(error?.code == .connectionLost)
    }
  }
}
