import Foundation
import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Uploads of bytes that can be read only once, through the real client.
@Suite(.timeLimit(.minutes(10))) struct StreamUploadTests {
  private static let mebibyte = 1 << 20
  private static let window = 8 * mebibyte

  private struct Broken: Error {}

  /// Bytes of seed 9 in chunks of 64 KiB, counted; then the end, or an error.
  private struct Source: AsyncSequence, Sendable {
    let length: Int
    var fails = false
    let taken = NIOLockedValueBox(0)

    struct AsyncIterator: AsyncIteratorProtocol {
      let source: Source
      var offset = 0

      mutating func next() async throws -> [UInt8]? {
        let count = Swift.min(64 << 10, source.length - offset)
        guard count > 0 else {
          if source.fails { throw Broken() }
          return nil
        }
        defer { offset += count }
        source.taken.withLockedValue { $0 += count }
        return SeededContent(seed: 9).bytes(at: Int64(offset), count: count)
      }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: self) }
  }

  private static func isWhole(_ bytes: [UInt8], length: Int) -> Bool {
    bytes.count == length && SeededContent.matches(seed: 9, bytes, at: 0)
  }

  /// Runs one upload to its end.
  private func upload(
    _ source: some AsyncSequence<[UInt8], any Error> & Sendable, to path: String = "/f",
    _ fixture: DownloadFixture, idleTimeout: Duration = .seconds(120),
    _ change: (inout UploadRequest) -> Void = { _ in }
  ) async throws -> (result: TransferResult?, error: TransferError?) {
    var upload = UploadRequest(to: try ResourceURL(fixture.server.url(path)))
    change(&upload)
    let request = TransferRequest(.upload(upload))
    return try await fixture.withManager({
      $0.idleTimeout = idleTimeout
      $0.uploadDirectory = "\(fixture.directory)/uploads"
    }) { manager in
      let transfer = try await manager.add(request, bytes: source)
      do throws(TransferError) {
        return (try await transfer.result, nil)
      } catch {
        return (nil, error)
      }
    }
  }

  private static func resource(_ faults: Fault...) -> FaultScript.Resource {
    FaultScript.Resource("/f", length: 0, faults: faults)
  }

  @Test(arguments: [0, 1, window - 1, window, window + 1, 15 * mebibyte])
  func `The server receives the bytes; up to 8 MiB with their length`(length: Int) async throws {
    try await DownloadFixture.with([Self.resource()]) { fixture in
      let outcome = try await upload(Source(length: length), fixture)
      #expect(outcome.result?.bytes == Int64(length))
      #expect(outcome.result?.fetched == Int64(length))
      let record = try #require(fixture.server.snapshot.requests.first)
      #expect(Self.isWhole(record.body, length: length))
      let isShort = length <= Self.window
      #expect(record.header("Content-Length") == (isShort ? "\(length)" : nil))
      #expect(record.header("Transfer-Encoding") == (isShort ? nil : "chunked"))
      #expect(fixture.server.snapshot.requests.map(\.method) == ["PUT", "HEAD"])
    }
  }

  @Test(arguments: [UploadRequest.Method.put, .post, .resumable])
  func `Bytes that cannot be read are an error, and the server never has a whole body`(
    method: UploadRequest.Method
  ) async throws {
    try await DownloadFixture.with([Self.resource()]) { fixture in
      let source = Source(length: 12 * Self.mebibyte, fails: true)
      let outcome = try await upload(source, fixture) { $0.method = method }
      #expect(outcome.error?.code == .sourceUnreadable)
      try await fixture.server.waitUntil { $0.connectionsOpen == 0 }
      let sent = fixture.server.snapshot.requests.filter { $0.method != "OPTIONS" }
      #expect(sent.count == 1)
      #expect(sent.first?.status == nil, "the body ended as if it were whole")
    }
  }

  @Test func `Bytes that cannot be read at once are an error before anything is sent`()
    async throws
  {
    try await DownloadFixture.with([Self.resource()]) { fixture in
      let outcome = try await upload(Source(length: 1000, fails: true), fixture)
      #expect(outcome.error?.code == .sourceUnreadable)
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test func `A refusal before the end is reported, and not retried`() async throws {
    let fault = Fault(.upload(after: 9 << 20, then: .answer), .status(503))
    try await DownloadFixture.with([Self.resource(fault)]) { fixture in
      let source = Source(length: 64 * Self.mebibyte)
      let error = try #require(try await upload(source, fixture).error)
      #expect((error.code, error.status) == (.httpStatus, 503))
      #expect(error.message.contains("what was read of the source is gone"))
      #expect(fixture.server.snapshot.requests.count == 1)
    }
  }

  @Test func `Bytes that are held are sent again after a lost connection`() async throws {
    let fault = Fault(.upload(after: 100_000, then: .reset), when: .first(1))
    try await DownloadFixture.with([Self.resource(fault)]) { fixture in
      let outcome = try await upload(Source(length: 3 * Self.mebibyte), fixture)
      #expect(outcome.result?.state == .completed)
      let requests = fixture.server.snapshot.requests
      #expect(requests.map(\.method) == ["PUT", "PUT", "HEAD"])
      #expect(Self.isWhole(requests[1].body, length: 3 * Self.mebibyte))
    }
  }

  @Test func `A server that stops reading stops the reading of the source`() async throws {
    let fault = Fault(.upload(after: 1 << 20, then: .stopReading))
    try await DownloadFixture.with([Self.resource(fault)]) { fixture in
      let source = Source(length: 512 * Self.mebibyte)
      let outcome = try await upload(source, fixture, idleTimeout: .milliseconds(200)) {
        $0.retry.retries = 0
      }
      #expect(outcome.error?.code == .stalled)
      #expect(source.taken.withLockedValue { $0 } < 64 * Self.mebibyte)
    }
  }

  @Test func `A paused upload cannot be resumed, and says so`() async throws {
    try await DownloadFixture.with([Self.resource()]) { fixture in
      let (silent, bytes) = AsyncStream.makeStream(of: [UInt8].self)
      bytes.yield([1, 2, 3])
      let request = TransferRequest(
        .upload(UploadRequest(to: try ResourceURL(fixture.server.url("/f")))))
      try await fixture.withManager { manager in
        let transfer = try await manager.add(request, bytes: silent)
        try await until { await transfer.summary?.state == .running }
        try await transfer.pause()
        #expect(await transfer.summary?.state == .paused)
        try await transfer.resume()
        let error = await #expect(throws: TransferError.self) { try await transfer.result }
        #expect(error?.code == .interrupted)
        #expect(error?.message.contains("read only once") == true)
      }
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test func `Bytes and request must fit`() async throws {
    try await DownloadFixture.with([Self.resource()]) { fixture in
      let url = try ResourceURL(fixture.server.url("/f"))
      try await fixture.withManager { manager in
        let file = TransferRequest(.upload(UploadRequest("/d/f", to: url)))
        let refused = await #expect(throws: TransferError.self) {
          try await manager.add(file, bytes: Source(length: 1))
        }
        #expect(refused?.code == .sourceUnreadable)
        let alone = try await manager.add(TransferRequest(.upload(UploadRequest(to: url))))
        let error = await #expect(throws: TransferError.self) { try await alone.result }
        #expect(error?.code == .sourceUnreadable)
      }
    }
  }

  @Test func `A download is uploaded as it arrives`() async throws {
    let length = 20 * Self.mebibyte
    let origin = FaultScript.Resource("/a", seed: 9, length: Int64(length))
    let target = FaultScript.Resource("/up/", length: 0).with { $0.service = .resumable }
    try await DownloadFixture.with([origin, target]) { fixture in
      var upload = UploadRequest(to: try ResourceURL(fixture.server.url("/up/b")))
      upload.method = .resumable
      let request = TransferRequest(.upload(upload))
      try await fixture.withManager { manager in
        let download = try await manager.add(
          .download(try ResourceURL(fixture.server.url("/a")), to: .stream))
        let copy = try await manager.add(request, bytes: try await manager.bytes(of: download))
        #expect(try await copy.result.bytes == Int64(length))
      }
      let stored = try #require(fixture.server.files(below: "/up/")["/up/b"])
      #expect(Self.isWhole(stored, length: length))
    }
  }

  // MARK: Resumable uploads and WebDAV

  @Test func `A resumable upload continues with what is held`() async throws {
    let fault = Fault(
      .upload(after: 3 << 20, then: .reset), when: .init(method: "PATCH", times: 1))
    let resource = FaultScript.Resource("/up/", length: 0, faults: [fault])
      .with { $0.service = .resumable }
    try await DownloadFixture.with([resource]) { fixture in
      let length = 20 * Self.mebibyte
      let outcome = try await upload(Source(length: length), to: "/up/f", fixture) {
        $0.method = .resumable
      }
      #expect(outcome.result?.bytes == Int64(length))
      let stored = try #require(fixture.server.files(below: "/up/")["/up/f"])
      #expect(Self.isWhole(stored, length: length))
      #expect(!fixture.server.snapshot.requests.contains { $0.header("Upload-Length") != nil })
    }
  }

  @Test func `A resumable upload whose source fails is deleted on the server`() async throws {
    let resource = FaultScript.Resource("/up/", length: 0).with { $0.service = .resumable }
    try await DownloadFixture.with([resource]) { fixture in
      let source = Source(length: 20 * Self.mebibyte, fails: true)
      let outcome = try await upload(source, to: "/up/f", fixture) { $0.method = .resumable }
      #expect(outcome.error?.code == .sourceUnreadable)
      #expect(fixture.server.files(below: "/up/").isEmpty)
      #expect(fixture.server.snapshot.requests.last?.method == "DELETE")
    }
  }

  @Test(arguments: [false, true])
  func `By WebDAV, only a whole stream gets its name`(fails: Bool) async throws {
    let resource = FaultScript.Resource("/dav/", length: 0).with { $0.service = .webDAV }
    try await DownloadFixture.with([resource]) { fixture in
      let length = 12 * Self.mebibyte
      let source = Source(length: length, fails: fails)
      let outcome = try await upload(source, to: "/dav/d/f", fixture) { $0.method = .webDAV }
      let files = fixture.server.files(below: "/dav/")
      #expect(outcome.error?.code == (fails ? .sourceUnreadable : nil))
      #expect(files.keys.sorted() == (fails ? [] : ["/dav/d/f"]))
      #expect(fails || Self.isWhole(files["/dav/d/f"] ?? [], length: length))
      let names = try FileManager.default.contentsOfDirectory(
        atPath: "\(fixture.directory)/uploads")
      #expect(names.isEmpty)
    }
  }
}
