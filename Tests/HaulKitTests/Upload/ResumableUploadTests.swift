import Foundation
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Resumable uploads through the real client, judged by what the server has received.
@Suite struct ResumableUploadTests {
  private static let length = 9 << 20

  private func with(
    _ service: FaultScript.Resource.UploadService = .resumable, _ faults: Fault...,
    body: (DownloadFixture) async throws -> Void
  ) async throws {
    let resource = FaultScript.Resource("/up/", length: 0, faults: faults)
      .with { $0.service = service }
    try await DownloadFixture.with([resource]) { try await body($0) }
  }

  private func upload(
    _ fixture: DownloadFixture, retries: Int? = nil,
    interruption: (@Sendable () async throws -> Void)? = nil
  ) async throws -> DownloadFixture.Outcome? {
    let path = "\(fixture.directory)/f.bin"
    if !FileManager.default.fileExists(atPath: path) {
      try Data(SeededContent(seed: 5).bytes(at: 0, count: Self.length))
        .write(to: URL(filePath: path))
    }
    var request = UploadRequest(path, to: try ResourceURL(fixture.server.url("/up/f.bin")))
    request.method = .resumable
    if let retries { request.retry.retries = retries }
    return try await fixture.run(
      TransferRequest(.upload(request)),
      configure: { $0.uploadDirectory = "\(fixture.directory)/uploads" },
      interruption: interruption)
  }

  private func isStored(_ fixture: DownloadFixture) -> Bool {
    let file = fixture.server.files(below: "/up/")["/up/f.bin"]
    return file.map { $0 == SeededContent(seed: 5).bytes(at: 0, count: Self.length) } ?? false
  }

  /// The bytes of all bodies that the server has read.
  private func received(_ fixture: DownloadFixture) -> Int64 {
    fixture.server.snapshot.requests.reduce(0) { $0 + $1.bodyReceived }
  }

  @Test(arguments: [FaultScript.Resource.UploadService.resumable, .resumable6])
  func `A file arrives in requests as large as the server allows`(
    service: FaultScript.Resource.UploadService
  ) async throws {
    try await with(service) { fixture in
      let outcome = try #require(try await upload(fixture))
      #expect(outcome.result.state == .completed)
      #expect(outcome.result.fetched == Int64(Self.length))
      #expect(isStored(fixture))
      let methods = fixture.server.snapshot.requests.map(\.method).filter { $0 != "OPTIONS" }
      #expect(methods == ["PUT", "PATCH", "PATCH"])
      let names = try FileManager.default.contentsOfDirectory(
        atPath: "\(fixture.directory)/uploads")
      #expect(names.isEmpty)
    }
  }

  @Test func `A lost connection continues with the bytes that the server has`() async throws {
    let fault = Fault(
      .upload(after: 3 << 20, then: .reset), when: .init(method: "PATCH", times: 1))
    try await with(.resumable, fault) { fixture in
      let outcome = try #require(try await upload(fixture))
      #expect((outcome.result.state, outcome.attempts) == (.completed, 1))
      #expect(isStored(fixture))
      let offsets = fixture.server.snapshot.requests.compactMap { $0.header("Upload-Offset") }
      #expect(Int64(offsets[1]).map { $0 >= 3 << 20 } == true)
      #expect(received(fixture) == Int64(Self.length))
    }
  }

  @Test func `An interim answer with progress is ignored`() async throws {
    let fault = Fault(
      .informational(status: 104, count: 2, headers: ["Upload-Offset: 5"]),
      when: .init(method: "PATCH"))
    try await with(.resumable, fault) { fixture in
      let outcome = try await upload(fixture)
      #expect(outcome?.result.state == .completed)
      #expect(isStored(fixture))
    }
  }

  @Test func `An upload that was interrupted continues in the next run`() async throws {
    let fault = Fault(.stallBeforeHead, when: .init(method: "PATCH", skip: 1, times: 1))
    try await with(.resumable, fault) { fixture in
      let server = fixture.server
      let first = try await upload(
        fixture, interruption: { try await server.waitForHeld("/up/") })
      #expect(first == nil)
      // The answer was lost, not the bytes: nothing says that the server accepted the file.
      let second = try #require(try await upload(fixture))
      #expect(second.result.state == .completed)
      #expect(isStored(fixture))
    }
  }

  @Test func `Acknowledged bytes are not sent again in the next run`() async throws {
    let fault = Fault(
      .upload(after: 1 << 20, then: .reset), when: .init(method: "PATCH", skip: 1, times: 1))
    try await with(.resumable, fault) { fixture in
      let server = fixture.server
      let first = try await upload(fixture, retries: 0)
      #expect(first?.result.error?.code == .connectionLost)
      let second = try #require(try await upload(fixture))
      #expect(second.result.state == .completed)
      #expect(second.result.reused >= 6 << 20)
      #expect(isStored(fixture))
      let offsets = server.snapshot.requests.compactMap { $0.header("Upload-Offset") }
      #expect(offsets.compactMap { Int64($0) }.last.map { $0 >= 6 << 20 } == true)
    }
  }

  @Test func `A server without resumable uploads gets a plain PUT`() async throws {
    let resource = FaultScript.Resource("/up/f.bin", length: 0)
    try await DownloadFixture.with([resource]) { fixture in
      let outcome = try await upload(fixture)
      #expect(outcome?.result.state == .completed)
      let requests = fixture.server.snapshot.requests
      #expect(requests.map(\.method) == ["OPTIONS", "OPTIONS", "PUT", "HEAD"])
      #expect(requests[2].bodyReceived == Int64(Self.length))
    }
  }
}
