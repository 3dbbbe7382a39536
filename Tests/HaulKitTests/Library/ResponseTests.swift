import FoundationEssentials
import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// What a program learns of the answers of servers.
@Suite(.timeLimit(.minutes(10))) struct ResponseTests {
  private static let file = FaultScript.Resource("/a.bin", seed: 3, length: 300_000)

  private func answering(
    _ status: Int, _ headers: [String], _ body: String, method: String = "POST"
  )
    -> FaultScript.Resource
  {
    let answer = Fault.Action.respond(status: status, headers: headers, body: body)
    return FaultScript.Resource(
      "/new", length: 0, faults: [Fault(answer, when: Fault.Match(method: method))])
  }

  /// The end of a transfer, in whatever way.
  private func end(of transfer: Transfer) async -> TransferResult? {
    for await event in transfer.events() {
      if case .finished(let result) = event.kind { return result }
    }
    return nil
  }

  @Test func `The answer to an upload has its status, fields and body`() async throws {
    let resource = answering(
      201, ["Content-Type: application/json", "Location: /new/7"], #"{"id": 7, "key": "<b>"}"#)
    try await DownloadFixture.with([resource]) { fixture in
      try await fixture.withManager { manager in
        let url = fixture.server.url("/new")
        let upload = try await manager.add(Data("hello".utf8), to: url) {
          $0.method = .post
          $0.headers["Content-Type"] = "text/plain"
        }
        let response = try #require(try await upload.result.response)
        #expect(response.status == 201 && response.url.text == url)
        #expect(response.headers["Content-Type"] == "application/json")
        #expect(response.headers["Location"] == "/new/7")
        #expect(
          response.body.map { String(decoding: $0, as: UTF8.self) } == #"{"id": 7, "key": "<b>"}"#)
        #expect(try await upload.result.response == response, "it can be asked again")
        #expect(await upload.snapshot?.result?.response == response)
        #expect("\(response)" == "201 from \(url)", "it may hold secrets")
      }
      let sent = try #require(fixture.server.requests.first { $0.method == "POST" })
      #expect(sent.body == Array("hello".utf8) && sent.header("Content-Type") == "text/plain")
    }
  }

  @Test func `No store gets an answer`() throws {
    let response = TransferResponse(
      status: 200, url: try ResourceURL("https://h.example/"), headers: ["Set-Cookie": "a=1"])
    let result = TransferResult(state: .completed, response: response)
    var change = StoreChange()
    let id = try #require(TransferID("00000001"))
    change.updated = [StoreChange.Update(id: id, storedState: StoredState(), result: result)]
    change.events = [StoredEvent(number: 1, id: id, kind: .finished(result))]
    change.removeResponses()
    #expect(change.updated[0].result == result && change.updated[0].result?.response == nil)
    guard case .finished(let stored) = change.events[0].kind else {
      return #expect(Bool(false), "another event")
    }
    #expect(stored == result && stored.response == nil)
  }

  @Test func `A refused upload has the answer that explains it`() async throws {
    let resource = answering(422, ["Content-Type: application/json"], #"{"error": "no title"}"#)
    try await DownloadFixture.with([resource]) { fixture in
      try await fixture.withManager { manager in
        let upload = try await manager.add(Data("x".utf8), to: fixture.server.url("/new")) {
          $0.method = .post
        }
        let result = try #require(await end(of: upload))
        #expect(result.state == .failed && result.response?.status == 422)
        #expect(result.response?.body == Data(#"{"error": "no title"}"#.utf8))
      }
    }
  }

  @Test func `A body that is too long, or a part of it, is left out`() async throws {
    let long = String(repeating: "x", count: (64 << 10) + 1)
    try await DownloadFixture.with([answering(200, [], long)]) { fixture in
      try await fixture.withManager { manager in
        let upload = try await manager.add(Data(), to: fixture.server.url("/new")) {
          $0.method = .post
        }
        let response = try #require(try await upload.result.response)
        #expect(response.status == 200 && response.body == nil)
      }
    }
  }

  @Test func `A download has the final address, and a failed one what was answered last`()
    async throws
  {
    let old = FaultScript.Resource("/old", length: 0, faults: [.redirect(to: "/a.bin")])
    try await DownloadFixture.with([Self.file, old]) { fixture in
      try await fixture.withManager { manager in
        let result = try await manager.download(
          fixture.server.url("/old"), to: .file(fixture.path("a")))
        #expect(result.response?.url == (try fixture.server.resourceURL("/a.bin")))
        #expect(result.response?.body == nil && result.response?.headers["ETag"] != nil)
        let missing = try await manager.add(fixture.server.url("/none"), to: .stream)
        let failed = try #require(await end(of: missing))
        #expect(failed.error?.code == .notFound && failed.response?.status == 404)
      }
    }
  }

  @Test func `A stream has its answer before its bytes`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      try await fixture.withManager { manager in
        let bytes = try await manager.add(fixture.server.url("/a.bin"), to: .stream).bytes
        let head = try await bytes.head
        #expect(200..<300 ~= head.status && head.headers["ETag"] != nil)
        let data = try await bytes.collect(upTo: 300_000)
        #expect(Array(data) == Self.file.content)
        #expect(try await bytes.head == head, "it can be asked again")
      }
    }
  }

  @Test func `A stream of what is missing fails before its bytes, with the status`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      try await fixture.withManager { manager in
        let bytes = try await manager.add(fixture.server.url("/none"), to: .stream).bytes
        let error = await #expect(throws: TransferError.self) { try await bytes.head }
        #expect(error?.status == 404)
      }
    }
  }

  @Test func `More bytes than may be collected are an error`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      try await fixture.withManager { manager in
        let stream = try await manager.add(fixture.server.url("/a.bin"), to: .stream)
        let error = await #expect(throws: TransferError.self) {
          _ = try await stream.bytes.collect(upTo: 299_999)
        }
        #expect(error?.code == .tooLarge)
        #expect(await end(of: stream)?.state == .cancelled)
      }
    }
  }

  private struct NotAnImage: Error {}

  @Test func `A hook judges each answer before its bytes are used`() async throws {
    var page = Self.file
    (page.path, page.contentType) = ("/page", "text/html")
    try await DownloadFixture.with([Self.file, page]) { fixture in
      let judged = NIOLockedValueBox<[Int]>([])
      try await fixture.withManager {
        $0.validate = { response in
          judged.withLockedValue { $0.append(response.status) }
          if response.headers["Content-Type"] == "text/html" { throw NotAnImage() }
        }
      } _: { manager in
        _ = try await manager.download(
          fixture.server.url("/a.bin"), to: .file(fixture.path("a")))
        let refused = try await manager.add(
          fixture.server.url("/page"), to: .file(fixture.path("page")))
        let result = try #require(await end(of: refused))
        #expect(result.error?.code == .refused && result.error?.fact.contains("NotAnImage") == true)
      }
      #expect(judged.withLockedValue { $0.allSatisfy { 200..<300 ~= $0 } && $0.count >= 2 })
      #expect(!FileManager.default.fileExists(atPath: fixture.path("page")))
    }
  }

  @Test func `A handler forbids a redirect`() async throws {
    let old = FaultScript.Resource("/old", length: 0, faults: [.redirect(to: "/a.bin")])
    try await DownloadFixture.with([Self.file, old]) { fixture in
      try await fixture.withManager {
        $0.followsRedirect = { from, to in !(from.path == "/old" && to.path == "/a.bin") }
      } _: { manager in
        let transfer = try await manager.add(
          fixture.server.url("/old"), to: .file(fixture.path("a")))
        #expect(await end(of: transfer)?.error?.code == .redirectRefused)
      }
      #expect(fixture.server.requests.map(\.path).contains("/a.bin") == false)
    }
  }

  @Test func `The configuration has header fields and retries for requests without their own`()
    async throws
  {
    // After 503, it is asked for once more without a range.
    let broken = FaultScript.Resource("/b", length: 10, faults: [.status(429)])
    try await DownloadFixture.with([Self.file, broken]) { fixture in
      try await fixture.withManager {
        ($0.headers, $0.retry.retries) = (["X-Key": "all", "X-Own": "all"], 0)
      } _: { manager in
        _ = try await manager.download(
          .download(fixture.server.url("/a.bin"), to: .file(fixture.path("a"))) {
            $0.headers = ["x-own": "mine"]
          })
        let once = try await manager.add(fixture.server.url("/b"), to: .stream)
        #expect(await end(of: once)?.error?.status == 429)
      }
      let requests = fixture.server.requests
      let first = try #require(requests.first { $0.path == "/a.bin" })
      #expect(first.header("X-Key") == "all" && first.headers.values(of: "X-Own") == ["mine"])
      #expect(requests.count { $0.path == "/b" } == 1)
    }
  }
}
