import Foundation
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Forms through the real client, judged by what the server has received.
@Suite struct FormUploadTests {
  private static let lengths = [0, 1, 700_000]

  private func upload(
    _ fixture: DownloadFixture, change: (inout UploadRequest) -> Void = { _ in }
  ) async throws -> DownloadFixture.Outcome {
    var parts = [FormPart("n", .text("v"))]
    for length in Self.lengths {
      let path = "\(fixture.directory)/\(length)"
      try Data(SeededContent(seed: 6).bytes(at: 0, count: length)).write(to: URL(filePath: path))
      parts.append(FormPart("f", .file(path)))
    }
    var request = UploadRequest(form: parts, to: try ResourceURL(fixture.server.url("/f")))
    change(&request)
    return try #require(try await fixture.run(TransferRequest(.upload(request))))
  }

  private static func resource(_ faults: Fault...) -> FaultScript.Resource {
    FaultScript.Resource("/f", length: 0, faults: faults)
  }

  @Test func `All parts arrive in one request of known length`() async throws {
    try await DownloadFixture.with([Self.resource()]) { fixture in
      let outcome = try await upload(fixture)
      #expect(outcome.result.state == .completed)
      let record = try #require(fixture.server.snapshot.requests.first)
      #expect(record.method == "POST")
      #expect(record.header("Content-Length") == "\(outcome.result.bytes)")
      #expect(record.body.count == Int(outcome.result.bytes))
      // The large file is the last part: between two line ends, before the last boundary.
      let tail = record.body.suffix("\r\n----\r\n".utf8.count + "haul-".utf8.count + 32)
      #expect(String(decoding: tail, as: UTF8.self).hasPrefix("\r\n--haul-"))
      let file = record.body.dropLast(tail.count).suffix(700_000)
      #expect(Array(file) == SeededContent(seed: 6).bytes(at: 0, count: 700_000))
    }
  }

  @Test func `A form whose answer is lost is sent only once`() async throws {
    let fault = Fault(.upload(after: 700_000, then: .reset))
    try await DownloadFixture.with([Self.resource(fault)]) { fixture in
      let outcome = try await upload(fixture)
      #expect(outcome.result.error?.message.contains("may have taken the file") == true)
      #expect(fixture.server.snapshot.requests.count == 1)
    }
  }

  @Test func `A file that is missing is an error before anything is sent`() async throws {
    try await DownloadFixture.with([Self.resource()]) { fixture in
      let outcome = try await upload(fixture) { request in
        request = UploadRequest(
          form: request.form + [FormPart("g", .file("\(fixture.directory)/none"))], to: request.url)
      }
      #expect(outcome.result.error?.code == .sourceUnreadable)
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }
}
