import Foundation
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Uploads by WebDAV through the real client, judged by what the server keeps.
@Suite struct DAVUploadTests {
  private static let content = SeededContent(seed: 4).bytes(at: 0, count: 600_000)
  private static let target = "/dav/new/dir/f.bin"

  private func with(
    _ faults: Fault..., body: (DownloadFixture) async throws -> Void
  ) async throws {
    let resource = FaultScript.Resource("/dav/", length: 0, faults: faults)
      .with { $0.service = .webDAV }
    try await DownloadFixture.with([resource]) { try await body($0) }
  }

  private func upload(
    _ fixture: DownloadFixture, content: [UInt8] = content,
    _ change: (inout UploadRequest) -> Void = { _ in },
    interruption: (@Sendable () async throws -> Void)? = nil
  ) async throws -> DownloadFixture.Outcome? {
    let path = "\(fixture.directory)/f.bin"
    try Data(content).write(to: URL(filePath: path))
    var request = UploadRequest(path, to: try ResourceURL(fixture.server.url(Self.target)))
    request.method = .webDAV
    change(&request)
    return try await fixture.run(
      TransferRequest(.upload(request)),
      configure: { $0.uploadDirectory = "\(fixture.directory)/uploads" },
      interruption: interruption)
  }

  private func isStored(_ fixture: DownloadFixture, _ content: [UInt8] = content) -> Bool {
    fixture.server.files(below: "/dav/") == [Self.target: content]
  }

  @Test(arguments: [0, 1, 600_000])
  func `A file arrives below directories that are made, and nothing else is left`(length: Int)
    async throws
  {
    try await with { fixture in
      let content = Array(Self.content.prefix(length))
      let outcome = try #require(try await upload(fixture, content: content))
      #expect(outcome.result.state == .completed)
      #expect(outcome.result.bytes == Int64(length))
      #expect(isStored(fixture, content))
      let names = try FileManager.default.contentsOfDirectory(
        atPath: "\(fixture.directory)/uploads")
      #expect(names.isEmpty)
    }
  }

  @Test func `A lost answer to MOVE is resolved by looking, not by sending the file again`()
    async throws
  {
    let fault = Fault(
      .cut(how: .reset, after: 0, in: .head), when: .init(method: "MOVE", times: 1))
    try await with(fault) { fixture in
      let outcome = try #require(try await upload(fixture) { $0.precondition = .absent })
      #expect(outcome.result.state == .completed)
      #expect(isStored(fixture))
      let methods = fixture.server.snapshot.requests.map(\.method)
      #expect(methods.filter { $0 == "PUT" }.count == 1)
      #expect(methods.suffix(3) == ["MOVE", "HEAD", "HEAD"])
    }
  }

  @Test func `A connection lost in the middle of the file costs an attempt`() async throws {
    let fault = Fault(
      .upload(after: 100_000, then: .reset), when: .init(method: "PUT", times: 1))
    try await with(fault) { fixture in
      let outcome = try #require(try await upload(fixture))
      #expect((outcome.result.state, outcome.attempts) == (.completed, 1))
      #expect(isStored(fixture))
    }
  }

  @Test(arguments: ["PUT", "MOVE"])
  func `A refusal leaves nothing behind`(method: String) async throws {
    try await with(Fault(.status(507), when: .init(method: method))) { fixture in
      let outcome = try #require(try await upload(fixture))
      #expect(outcome.result.error?.status == 507)
      #expect(fixture.server.files(below: "/dav/") == [:])
      #expect(fixture.server.snapshot.requests.last?.method == "DELETE")
    }
  }

  @Test func `A file that is there already is kept`() async throws {
    try await with { fixture in
      _ = try await upload(fixture, content: [1, 2, 3])
      let outcome = try #require(try await upload(fixture) { $0.precondition = .absent })
      #expect(outcome.result.error?.code == .nameConflict)
      #expect(isStored(fixture, [1, 2, 3]))
      _ = try await upload(fixture)
      #expect(isStored(fixture))
    }
  }

  @Test func `An upload that was interrupted uses its temporary name again`() async throws {
    let fault = Fault(.stallBeforeHead, when: .init(method: "PUT", times: 1))
    try await with(fault) { fixture in
      let server = fixture.server
      let first = try await upload(
        fixture, interruption: { try await server.waitForHeld("/dav/") })
      #expect(first == nil)
      let second = try #require(try await upload(fixture))
      #expect(second.result.state == .completed)
      let puts = server.snapshot.requests.filter { $0.method == "PUT" }.map(\.path)
      #expect(puts.count == 2 && puts[0] == puts[1])
      #expect(isStored(fixture))
    }
  }

  @Test func `A cancelled upload deletes its temporary name`() async throws {
    let fault = Fault(.stallBeforeHead, when: .init(method: "PUT"))
    try await with(fault) { fixture in
      let path = try fixture.authorityFile()
      let url = try ResourceURL(fixture.server.url(Self.target))
      _ = try await fixture.queue { queue in
        let transfer = try await queue.manager.add(.upload(path, to: url) { $0.method = .webDAV })
        try await fixture.server.waitForHeld("/dav/")
        try await transfer.cancel()
        // It says by an error that it was cancelled.
        _ = try? await transfer.result
        #expect(await transfer.state == .cancelled)
        let requests = fixture.server.snapshot.requests
        #expect(requests.last?.method == "DELETE")
        #expect(requests.last?.path == requests.first { $0.method == "PUT" }?.path)
      }
    }
  }

  @Test func `A directory is made, and its content stays`() async throws {
    try await with { fixture in
      let outcome = try #require(
        try await upload(fixture) {
          $0.source = .file("\(fixture.directory)/")
          $0.url = (try? ResourceURL(fixture.server.url("/dav/e/"))) ?? $0.url
        })
      #expect(outcome.result.state == .completed)
      #expect(outcome.result.bytes == 0)
      #expect(fixture.server.snapshot.requests.map(\.method) == ["MKCOL"])
    }
  }

  @Test func `A file that did not arrive whole is sent again, and then gets its name`() async throws
  {
    let fewer = Fault(.contentLength(values: ["7"]), when: .init(method: "HEAD", times: 1))
    try await with(fewer) { fixture in
      let outcome = try #require(try await upload(fixture))
      #expect((outcome.result.state, outcome.attempts) == (.completed, 1))
      #expect(isStored(fixture))
    }
    let always = Fault(.contentLength(values: ["7"]), when: .init(method: "HEAD"))
    try await with(always) { fixture in
      let outcome = try #require(try await upload(fixture) { $0.retry.retries = 0 })
      #expect(outcome.result.error?.code == .lengthMismatch)
      #expect(fixture.server.files(below: "/dav/") == [:])
    }
  }

  @Test(arguments: [405, 501, 403])
  func `A server without MOVE gets the file under its own name`(status: Int) async throws {
    try await with(Fault(.status(status), when: .init(method: "MOVE"))) { fixture in
      let outcome = try #require(try await upload(fixture) { $0.retry.retries = 0 })
      #expect(outcome.result.state == .completed)
      #expect(isStored(fixture))
    }
  }

  @Test func `A collection below which MKCOL is always a conflict still takes files`() async throws
  {
    try await with(Fault(.status(409), when: .init(method: "MKCOL"))) { fixture in
      let outcome = try #require(
        try await upload(fixture) {
          $0.url = (try? ResourceURL(fixture.server.url("/dav/f.bin"))) ?? $0.url
        })
      #expect(outcome.result.state == .completed)
      #expect(fixture.server.files(below: "/dav/") == ["/dav/f.bin": Self.content])
    }
  }

  @Test func `A MOVE that a proxy gave up on is waited for while the file is locked`() async throws
  {
    let locked = Fault(.status(423), when: .init(method: "MOVE", skip: 1, times: 1))
    let slow = Fault(.status(504), when: .init(method: "MOVE", times: 1))
    try await with(slow, locked) { fixture in
      let outcome = try #require(try await upload(fixture) { $0.retry.retries = 1 })
      #expect(outcome.result.state == .completed)
      #expect(isStored(fixture))
    }
  }
}
