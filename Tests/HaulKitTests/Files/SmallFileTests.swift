import HaulCore
import HaulKit
import HaulTesting
import Testing

@Suite struct SmallFileTests {
  private static let length = 10_240

  private static func files(_ count: Int, _ faults: Fault...) -> [FaultScript.Resource] {
    (0..<count).map {
      .init("/\($0).bin", seed: UInt64($0 + 1), length: Int64(length), faults: faults)
    }
  }

  private func expectWhole(_ fixture: DownloadFixture, _ outcomes: [DownloadFixture.Outcome]) throws
  {
    for (index, outcome) in outcomes.enumerated() {
      try fixture.expectWhole(
        "\(index).bin", seed: UInt64(index + 1), length: Self.length, outcome)
    }
  }

  @Test(arguments: [DownloadRequest.Durability.strict, .relaxed])
  func `Many small files use no more connections than slots, and leave nothing behind`(
    durability: DownloadRequest.Durability
  ) async throws {
    let count = 100
    try await DownloadFixture.with(Self.files(count)) { fixture in
      let requests = try (0..<count).map { index in
        try fixture.request("/\(index).bin") { $0.durability = durability }
      }
      let outcomes = try await fixture.withManager({
        $0.maximumActive = 6
        $0.maximumActivePerHost = 6
      }) { manager in
        try await fixture.finishAll(requests, with: manager)
      }
      try expectWhole(fixture, outcomes)
      #expect(try fixture.names() == (0..<count).map { "\($0).bin" }.sorted())
      #expect(fixture.server.snapshot.connectionsOpened <= 6)
      #expect(fixture.server.snapshot.requests.count == count)
    }
  }

  @Test func `A small file resumes from its bytes after a lost connection`() async throws {
    let loss = Fault(.cut(how: .close, after: 4_000), when: .request(1))
    try await DownloadFixture.with(Self.files(1, loss)) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/0.bin"))
      try expectWhole(fixture, [outcome])
      #expect(outcome.attempts == 1)
      #expect(fixture.server.snapshot.requests.map(\.range) == ["bytes=0-", "bytes=4000-10239"])
      #expect(outcome.result.fetched == Int64(Self.length))
    }
  }

  @Test func `A small file that breaks off keeps its bytes for the next run`() async throws {
    try await DownloadFixture.with(Self.files(1, Fault(.cut(how: .close, after: 4_000)))) {
      fixture in
      let request = try fixture.request("/0.bin") { $0.retry.retries = 0 }
      let first = try await fixture.finish(request)
      #expect(first.result.state == .failed)
      #expect(try fixture.names() == ["0.bin.haul.journal", "0.bin.haul.part"])
      fixture.server.setFaults("/0.bin", [])
      let second = try await fixture.finish(request)
      try expectWhole(fixture, [second])
      #expect(second.result.reused == 4_000)
      #expect(try fixture.names() == ["0.bin"])
    }
  }

  @Test(arguments: [false, true])
  func `Small files that stall midway are requested again and complete`(
    http2: Bool
  ) async throws {
    let stall = Fault(.stall(after: 4_000), when: .request(1))
    try await DownloadFixture.with(Self.files(2, stall), tls: http2 ? .good : .none, http2: http2) {
      fixture in
      let outcomes = try await fixture.withManager({ $0.idleTimeout = .milliseconds(200) }) {
        manager in
        try await fixture.finishAll(
          try (0..<2).map { try fixture.request("/\($0).bin") }, with: manager)
      }
      try expectWhole(fixture, outcomes)
      #expect((0..<2).allSatisfy { fixture.server.snapshot.requestCount("/\($0).bin") > 1 })
    }
  }

  @Test func `A small file that arrives byte by byte completes`() async throws {
    let drip = Fault(.drip(bytes: 1_024, milliseconds: 20))
    try await DownloadFixture.with(Self.files(2, drip)) { fixture in
      let outcomes = try await fixture.withManager { manager in
        try await fixture.finishAll(
          try (0..<2).map { try fixture.request("/\($0).bin") }, with: manager)
      }
      try expectWhole(fixture, outcomes)
      #expect(outcomes.allSatisfy { $0.attempts == 0 })
    }
  }

  @Test func `Small files complete despite resets, redirects, refusals and other faults`()
    async throws
  {
    let faults: [[Fault]] = [
      [Fault(.cut(how: .reset, after: 4_000), when: .request(1))],
      [Fault(.redirect(location: "/5.bin"), when: .request(1))],
      [Fault(.status(503), when: .request(1))],
      [Fault(.ignoreRange)],
      [Fault(.chunked())],
      [],
    ]
    let resources = faults.enumerated().map { index, faults in
      FaultScript.Resource(
        "/\(index).bin", seed: UInt64(index == 1 ? 6 : index + 1), length: Int64(Self.length),
        faults: faults)
    }
    try await DownloadFixture.with(resources) { fixture in
      let requests = try faults.indices.map { try fixture.request("/\($0).bin") }
      let outcomes = try await fixture.withManager { manager in
        try await fixture.finishAll(requests, with: manager)
      }
      for (index, outcome) in outcomes.enumerated() {
        try fixture.expectWhole(
          "\(index).bin", seed: UInt64(index == 1 ? 6 : index + 1), length: Self.length, outcome)
      }
    }
  }

  @Test func `Small files with the same name all complete, with different numbers`() async throws {
    let paths = ["/a/same.bin", "/b/same.bin", "/c/same.bin"]
    let resources = paths.enumerated().map { index, path in
      // With equal lengths, they would be accepted as one existing file.
      FaultScript.Resource(path, seed: UInt64(index + 1), length: Int64(Self.length + index))
    }
    try await DownloadFixture.with(resources) { fixture in
      let outcomes = try await fixture.withManager({ $0.maximumActive = 1 }) { manager in
        try await fixture.finishAll(try paths.map { try fixture.request($0) }, with: manager)
      }
      #expect(outcomes.allSatisfy { $0.result.state == .completed })
      #expect(try fixture.names() == ["same (1).bin", "same (2).bin", "same.bin"])
    }
  }

  @Test func `A later small file reuses the open HTTP-2 connection`() async throws {
    try await DownloadFixture.with(Self.files(4), tls: .good, http2: true) { fixture in
      let requests = try (0..<4).map { try fixture.request("/\($0).bin") }
      let outcomes = try await fixture.withManager { manager in
        let many = try await fixture.finishAll(Array(requests.prefix(3)), with: manager)
        return many + [try await fixture.finish(requests[3], with: manager)]
      }
      try expectWhole(fixture, outcomes)
      let seen = fixture.server.snapshot.requests
      #expect(seen.allSatisfy { $0.version == .http2 })
      #expect(Set(seen.map(\.connection)).count == 1)
    }
  }
}
