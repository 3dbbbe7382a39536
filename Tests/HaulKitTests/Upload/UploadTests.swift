import Foundation
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Uploads with PUT and POST through the real client, judged by what the server has received.
@Suite struct UploadTests {
  private static let length = 4 << 20

  /// Uploads a new file of that length.
  private func upload(
    _ fixture: DownloadFixture, length: Int = length, idleTimeout: Duration = .seconds(120),
    _ change: (inout UploadRequest) throws -> Void = { _ in },
    interruption: (@Sendable () async throws -> Void)? = nil
  ) async throws -> DownloadFixture.Outcome? {
    let path = "\(fixture.directory)/source.bin"
    let content = SeededContent(seed: 9).bytes(at: 0, count: length)
    try Data(content).write(to: URL(filePath: path))
    var request = UploadRequest(path, to: try ResourceURL(fixture.server.url("/f")))
    try change(&request)
    return try await fixture.run(
      TransferRequest(.upload(request)), idleTimeout: idleTimeout, interruption: interruption)
  }

  private static func resource(_ faults: Fault...) -> FaultScript.Resource {
    FaultScript.Resource("/f", length: 0, faults: faults)
  }

  private func isWhole(_ record: RequestRecord?, length: Int = length) -> Bool {
    record.map { $0.body == SeededContent(seed: 9).bytes(at: 0, count: length) } ?? false
  }

  @Test(arguments: [0, 1, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, 3 << 20])
  func `The server receives the file, byte for byte`(length: Int) async throws {
    try await DownloadFixture.with([Self.resource()]) { fixture in
      let outcome = try #require(try await upload(fixture, length: length))
      #expect(outcome.result.state == .completed)
      #expect(outcome.result.bytes == Int64(length))
      #expect(outcome.result.fetched == Int64(length))
      let record = try #require(fixture.server.snapshot.requests.first)
      #expect(record.method == "PUT")
      #expect(record.header("Content-Length") == "\(length)")
      #expect(isWhole(record, length: length))
    }
  }

  @Test func `A file goes over TLS too`() async throws {
    try await DownloadFixture.with([Self.resource()], tls: .good) { fixture in
      let outcome = try #require(try await upload(fixture))
      #expect(outcome.result.state == .completed)
      #expect(isWhole(fixture.server.snapshot.requests.first))
    }
  }

  @Test(arguments: [
    Fault.Action.cut(how: .stall, after: 3, in: .body), .drip(milliseconds: 60_000),
  ])
  func `The status decides, and the rest of the answer is not waited for`(ending: Fault.Action)
    async throws
  {
    let answer = Fault.Action.respond(
      status: 201, headers: ["Content-Type: text/plain"], body: "it is stored as number 7")
    let fault = Fault(answer, ending, when: Fault.Match(method: "PUT"))
    try await DownloadFixture.with([Self.resource(fault)]) { fixture in
      let outcome = try await upload(fixture, length: 1000, idleTimeout: .seconds(1))
      let result = try #require(outcome).result
      #expect(result.state == .completed)
      #expect(result.reply == nil, "a part of what the server says is not shown as all of it")
      #expect(isWhole(fixture.server.snapshot.requests.first, length: 1000))
    }
  }

  @Test(arguments: [401, 413])
  func `A refusal in the middle of the body is reported, not a lost connection`(status: Int)
    async throws
  {
    let fault = Fault(.upload(after: 100_000, then: .answer), .status(status))
    try await DownloadFixture.with([Self.resource(fault)]) { fixture in
      let outcome = try #require(try await upload(fixture, length: 8 << 20))
      #expect(outcome.result.error?.status == status)
      #expect(fixture.server.snapshot.requests.count == 1)
      #expect(outcome.result.fetched < 8 << 20)
    }
  }

  @Test(arguments: [Int64(100_000), Int64(length)])
  func `A connection that is lost before the answer costs an attempt`(after: Int64) async throws {
    let fault = Fault(.upload(after: after, then: .reset), when: .first(1))
    try await DownloadFixture.with([Self.resource(fault)]) { fixture in
      let outcome = try #require(try await upload(fixture))
      #expect(outcome.result.state == .completed)
      #expect(outcome.attempts == 1)
      let requests = fixture.server.snapshot.requests
      #expect(requests.map(\.method) == ["PUT", "PUT", "HEAD"])
      #expect(isWhole(requests[1]))
    }
  }

  @Test func `A POST whose answer is lost is sent only once`() async throws {
    let fault = Fault(.upload(after: Int64(Self.length), then: .reset))
    try await DownloadFixture.with([Self.resource(fault)]) { fixture in
      let outcome = try #require(try await upload(fixture) { $0.method = .post })
      #expect(outcome.result.error?.message.contains("may have taken the file") == true)
      #expect(fixture.server.snapshot.requests.count == 1)
    }
  }

  @Test func `A server that stops reading is given up after the idle timeout`() async throws {
    let fault = Fault(.upload(after: 1 << 20, then: .stopReading))
    try await DownloadFixture.with([Self.resource(fault)]) { fixture in
      let outcome = try await upload(
        fixture, length: 64 << 20, idleTimeout: .milliseconds(200)
      ) { $0.retry.retries = 0 }
      let result = try #require(outcome).result
      #expect(result.error?.code == .stalled)
      #expect(result.error?.message.contains("took no bytes for 0.2 seconds") == true)
      // The rest of the file was never read: it waits in no memory of ours.
      #expect(result.fetched < 32 << 20)
    }
  }

  @Test func `A server that does not answer a question is given up after the idle timeout`()
    async throws
  {
    try await DownloadFixture.with([Self.resource(Fault(.stallBeforeHead))]) { fixture in
      let outcome = try await upload(fixture, idleTimeout: .milliseconds(200)) {
        $0.method = .tus
        $0.retry.retries = 0
      }
      let error = try #require(outcome).result.error
      #expect(error?.code == .stalled)
      #expect(error?.message.contains("the server did not answer for 0.2 seconds") == true)
      // What the address says counts more than the silence.
      #expect(fixture.server.snapshot.requests.map(\.method) == ["OPTIONS", "POST"])
    }
  }

  @Test func `A file that must not exist is not sent when it is there`() async throws {
    try await DownloadFixture.with([Self.resource()]) { fixture in
      let outcome = try #require(try await upload(fixture) { $0.precondition = .absent })
      #expect(outcome.result.error?.code == .nameConflict)
      #expect(fixture.server.snapshot.requests.map(\.method) == ["HEAD"])
    }
  }

  @Test func `A file that must not exist is sent with the condition`() async throws {
    let missing = Fault(.status(404), when: .init(method: "HEAD", times: 1))
    try await DownloadFixture.with([Self.resource(missing)]) { fixture in
      let outcome = try #require(try await upload(fixture) { $0.precondition = .absent })
      #expect(outcome.result.state == .completed)
      #expect(fixture.server.snapshot.requests.map(\.method) == ["HEAD", "PUT", "HEAD"])
      let record = fixture.server.snapshot.requests.dropFirst().first
      #expect(record?.header("If-None-Match") == "*")
      #expect(isWhole(record))
    }
  }

  @Test func `A server that has fewer bytes than it was sent gets the file again`() async throws {
    let fewer = Fault(.contentLength(values: ["7"]), when: .init(method: "HEAD", times: 1))
    try await DownloadFixture.with([Self.resource(fewer)]) { fixture in
      let outcome = try #require(try await upload(fixture))
      #expect((outcome.result.state, outcome.attempts) == (.completed, 1))
      #expect(fixture.server.snapshot.requests.map(\.method) == ["PUT", "HEAD", "PUT", "HEAD"])
    }
    let always = Fault(.contentLength(values: ["7"]), when: .init(method: "HEAD"))
    try await DownloadFixture.with([Self.resource(always)]) { fixture in
      let outcome = try #require(try await upload(fixture) { $0.retry.retries = 0 })
      #expect(outcome.result.error?.code == .lengthMismatch)
      #expect(outcome.result.error?.message.contains("has 7 of its \(Self.length) bytes") == true)
    }
    try await DownloadFixture.with([Self.resource(always)]) { fixture in
      let outcome = try #require(try await upload(fixture))
      #expect((outcome.result.error?.code, outcome.attempts) == (.lengthMismatch, 1))
      #expect(fixture.server.snapshot.requests.map(\.method) == ["PUT", "HEAD", "PUT", "HEAD"])
    }
  }

  @Test func `A file whose length is not what the system says is not sent`() async throws {
    try await DownloadFixture.with([Self.resource()]) { fixture in
      // The kernel says 0 bytes, and has some.
      let outcome = try #require(try await upload(fixture) { $0.source = .file("/proc/version") })
      #expect(outcome.result.error?.code == .sourceUnreadable)
      #expect(outcome.result.error?.message.contains("more bytes than its length, 0") == true)
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  /// All progress of an upload, in percent, and how it ended.
  private func progress(
    _ fault: Fault, retries: Int = 1
  ) async throws -> (percent: [Int], state: TransferResult.State) {
    try await DownloadFixture.with([Self.resource(fault)]) { fixture in
      let path = "\(fixture.directory)/source.bin"
      try Data(SeededContent(seed: 9).bytes(at: 0, count: Self.length))
        .write(to: URL(filePath: path))
      let url = try ResourceURL(fixture.server.url("/f"))
      var end = (percent: [Int](), state: TransferResult.State.cancelled)
      _ = try await fixture.queue { queue in
        let events = queue.manager.events()
        let transfer = try await queue.manager.add(
          .upload(path, to: url) { $0.retry.retries = retries })
        for await event in events where event.id == transfer.id {
          switch event.kind {
          case .progress(let progress):
            end.percent += [progress.percent].compactMap(\.self)
            // The server has all bytes, and its answer is held until this was reported.
            if progress.percent ?? 0 >= 99 { _ = fixture.server.release("/f") }
          case .finished(let result):
            end.state = result.state
            return
          default: break
          }
        }
      }
      return end
    }
  }

  @Test func `All bytes are reported once, when the server has confirmed the file`() async throws {
    let refusal = Fault(.stallBeforeHead, .status(403), when: .init(method: "PUT"))
    let (refused, state) = try await progress(refusal)
    #expect(state == .failed && refused.contains(99) && !refused.contains(100))
    // Asked what it has, the server is silent for a while.
    let asked = Fault(.stallBeforeHead, when: .init(method: "HEAD"))
    let (whole, _) = try await progress(asked)
    #expect(whole.drop { $0 < 99 }.allSatisfy { $0 >= 99 } && whole.count { $0 == 100 } == 1)
    let busy = Fault(.stallBeforeHead, .status(503), when: .init(method: "PUT", times: 1))
    let (again, end) = try await progress(busy)
    #expect(end == .completed)
    #expect(again.last == 100 && again.count { $0 == 100 } == 1)
  }

  @Test func `A source that grows while the server answers is reported as changed`() async throws {
    let fault = Fault(.stallBeforeHead)
    try await DownloadFixture.with([Self.resource(fault)]) { fixture in
      let (server, path) = (fixture.server, "\(fixture.directory)/source.bin")
      let growing = Task {
        try await server.waitForHeld("/f")
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.seekToEnd()
        try file.write(contentsOf: Data([1]))
        try file.close()
        _ = server.release("/f")
      }
      let outcome = try #require(try await upload(fixture))
      try await growing.value
      #expect(outcome.result.error?.code == .sourceChanged)
    }
  }

  @Test func `A source that cannot be read is an error before anything is sent`() async throws {
    try await DownloadFixture.with([Self.resource()]) { fixture in
      let sources = [
        ("\(fixture.directory)/none", TransferError.Code.sourceUnreadable),
        (fixture.directory, .notARegularFile), ("/dev/null", .notARegularFile),
      ]
      for (source, code) in sources {
        let outcome = try #require(try await upload(fixture) { $0.source = .file(source) })
        #expect(outcome.result.error?.code == code)
      }
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test func `A pause closes the connection and frees the slot; nothing more is sent`()
    async throws
  {
    let fault = Fault(.stallBeforeHead)
    try await DownloadFixture.with([Self.resource(fault)]) { fixture in
      let server = fixture.server
      let outcome = try await upload(
        fixture,
        interruption: {
          try await server.waitForHeld("/f")
        })
      // Nil: it was paused before it ended.
      #expect(outcome?.result == nil)
      try await server.waitUntil { $0.connectionsOpen == 0 }
    }
  }
}
