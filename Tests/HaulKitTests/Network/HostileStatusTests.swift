import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Answers with an invalid status.
@Suite(.timeLimit(.minutes(10))) struct HostileStatusTests {
  private func failure(_ fixture: DownloadFixture) async throws -> TransferError? {
    try await fixture.finish(
      fixture.request("/f", as: "out") {
        $0.retry.retries = 0
        $0.allowInsecure = true
      }
    ).result.error
  }

  @Test(arguments: ["000", "001", "050", "099"])
  func `A status below 100 fails the download, and the next one completes`(status: String)
    async throws
  {
    let raw = "HTTP/1.1 \(status) F\r\nContent-Length: 5\r\n\r\nhello"
    let resource = FaultScript.Resource.plain("f").with { $0.faults = [Fault(.raw(text: raw))] }
    try await DownloadFixture.with([resource]) { fixture in
      let error = try await failure(fixture)
      #expect(error?.code == .protocolViolation)
      fixture.server.setFaults("/f", [])
      let none = try await failure(fixture)
      #expect(none == nil)
    }
  }

  @Test func `A status below 100 over HTTP/2 fails the download`() async throws {
    let resource = FaultScript.Resource.plain("f").with {
      $0.faults = [Fault(.respond(status: 99, body: "hello"))]
    }
    try await DownloadFixture.with([resource], tls: .good, http2: true) { fixture in
      let outcome = try await fixture.run(
        fixture.request("/f", as: "out") { $0.retry.retries = 0 },
        configure: { $0.httpVersion = .http2 })
      #expect(outcome?.result.error?.code == .protocolViolation)
    }
  }

  @Test(arguments: ["gzip, chunked", "gzip", "chunked, gzip"])
  func `A body with an unrequested transfer coding is not published`(coding: String)
    async throws
  {
    let raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: \(coding)\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    let resource = FaultScript.Resource.plain("f").with { $0.faults = [Fault(.raw(text: raw))] }
    try await DownloadFixture.with([resource]) { fixture in
      let error = try await failure(fixture)
      #expect(error != nil)
      #expect(try !fixture.names().contains("out"))
    }
  }

  @Test func `Redirects work although the server closes each connection without notice`()
    async throws
  {
    let hops = (1...5).map { number in
      FaultScript.Resource("/hop\(number)", length: 1).with {
        $0.faults = [
          Fault(
            .redirect(location: number == 5 ? "/f" : "/hop\(number + 1)"), .closeAfterwards())
        ]
      }
    }
    try await DownloadFixture.with(hops + [.plain("f")]) { fixture in
      let outcome = try await fixture.finish(
        fixture.request("/hop1", as: "out") { $0.retry.retries = 0 })
      #expect(outcome.result.state == .completed, "\(outcome.result)")
    }
  }
}
