import HaulCore
import HaulTesting
import Testing

/// Links that expire, on one connection and on additional ones.
@Suite struct ExpiringLinkTests {
  private static let length: Int64 = 2 << 20

  /// `/start` leads to `/f`. Its first answer stalls half-way, the second is `status`, and others
  /// are correct.
  private func resources(_ status: Int) -> [FaultScript.Resource] {
    [
      .redirecting("/start", to: "/f?sig=1"),
      FaultScript.Resource(
        "/f", seed: 42, length: Self.length,
        faults: [
          Fault(.stall(after: 256 << 10), when: .request(1)),
          Fault(.status(status), when: .request(2)),
        ]),
    ]
  }

  @Test(arguments: [401, 403, 404, 410])
  func `Case 42: an additional connection asks the original address again; the host's limit stays`(
    status: Int
  ) async throws {
    try await DownloadFixture.with(resources(status)) { fixture in
      let server = fixture.server
      let watcher = Task {
        // The second connection has met the expired link: from now on the original address leads to
        // the new one.
        try await server.waitForRequests(1, path: "/f")
        server.update("/start") { $0.redirect = .init(location: "/f?sig=2") }
        // Three beside the held one and the refused one: no limit was learned.
        try await server.waitUntil { $0.requestCount("/f") >= 5 }
        server.release("/f")
      }
      let outcome = try await fixture.finish(
        try fixture.request("/start", as: "f.bin") { $0.connections = 4 })
      try await watcher.value
      try fixture.expectWhole("f.bin", seed: 42, length: Int(Self.length), outcome)
      #expect(outcome.attempts == 0)
      #expect(outcome.restarts == 0)
    }
  }

  @Test
  func `Case 42: if the link and the original address expire, the bytes are kept`() async throws {
    let signed = FaultScript.Resource(
      "/signed", seed: 42, length: 600_000,
      faults: [
        Fault(.reset(after: 300_000), when: .request(1)), Fault(.status(404), when: .init(skip: 1)),
      ])
    try await DownloadFixture.with([signed, .redirecting("/start", to: "/signed")]) { fixture in
      let first = try await fixture.finish(
        try fixture.request("/start", as: "f.bin") { $0.connections = 1 })
      try fixture.expectFailure(.needsNewURL, first, without: "f.bin")
      fixture.server.setFaults("/signed", [])
      let second = try await fixture.finish(
        try fixture.request("/start", as: "f.bin") { $0.connections = 1 })
      try fixture.expectWhole("f.bin", seed: 42, length: 600_000, second)
      #expect(second.result.reused + second.result.fetched == 600_000)
    }
  }

  @Test(arguments: [
    ("/f.bin?Signature=abc", TransferError.Code.needsNewURL), ("/f.bin?token=a", .needsNewURL),
    ("/f.bin", .forbidden), ("/f.bin?lang=en", .forbidden),
  ])
  func `Case 42: an address forbidden midway needs a new one if it has a signature or a token`(
    path: String, code: TransferError.Code
  ) async throws {
    let file = FaultScript.Resource(
      "/f.bin", seed: 42, length: 600_000,
      faults: [
        Fault(.reset(after: 300_000), when: .request(1)), Fault(.status(403), when: .init(skip: 1)),
      ])
    try await DownloadFixture.with([file]) { fixture in
      let outcome = try await fixture.finish(
        try fixture.request(path, as: "f.bin") { $0.connections = 1 })
      try fixture.expectFailure(code, outcome, without: "f.bin")
      #expect(try fixture.names() == ["f.bin.haul.journal", "f.bin.haul.part"])
    }
  }

  @Test func `A redirected address that never worked fails with its own code`() async throws {
    let gone = FaultScript.Resource(
      "/gone", seed: 1, length: 100, faults: [Fault(.status(404))])
    try await DownloadFixture.with([gone, .redirecting("/start", to: "/gone")]) { fixture in
      try fixture.expectFailure(.notFound, try await fixture.finish(try fixture.request("/start")))
    }
  }
}
