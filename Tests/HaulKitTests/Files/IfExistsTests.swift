import FoundationEssentials
import HaulCore
import HaulKit
import HaulTesting
import Testing

@Suite struct IfExistsTests {
  private static let length = 200_000
  private static let file = FaultScript.Resource("/f.bin", seed: 8, length: Int64(length))
  private static let old: [UInt8] = [1, 2, 3]

  private func checksum(seed: UInt64 = 8) throws -> Checksum {
    try #require(
      Checksum("sha-256=" + SeededContent.sha256Hex(seed: seed, length: Int64(Self.length))))
  }

  @Test(arguments: [true, false])
  func `Update: a file with the same length and time is reused without a download`(
    isExact: Bool
  ) async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      let request = try fixture.request("/f.bin", as: isExact ? "f.bin" : nil)
      _ = try await fixture.finish(request)
      let inode = try fixture.inode("f.bin")
      fixture.server.resetStatistics()
      let second = try await fixture.finish(request)
      try fixture.expectWhole("f.bin", seed: 8, length: Self.length, second)
      #expect(second.result.path == fixture.path("f.bin"))
      #expect(second.result.fetched == 0)
      #expect(second.result.reused == Int64(Self.length))
      #expect(fixture.server.snapshot.requests.count == 1)
      #expect(try fixture.inode("f.bin") == inode)
      #expect(try fixture.names() == ["f.bin"])
    }
  }

  enum Difference: CaseIterable, Sendable { case length, time }

  @Test(arguments: [true, false])
  func `Update: a file of an earlier run is replaced when the server has a new version`(
    isExact: Bool
  ) async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      let request = try fixture.request("/f.bin", as: isExact ? "f.bin" : nil)
      _ = try await fixture.finish(request)
      for seed in UInt64(21)...23 {
        fixture.server.update("/f.bin") {
          $0.seed = seed
          $0.entityTag = FaultScript.Resource.strongTag(seed: seed)
          $0.lastModified = FaultScript.Resource.oldDate + Int64(seed)
        }
        let newer = try await fixture.finish(request)
        try fixture.expectWhole("f.bin", seed: seed, length: Self.length, newer)
        #expect(newer.result.path == fixture.path("f.bin"))
        let again = try await fixture.finish(request)
        #expect(again.result.fetched == 0)
        #expect(try fixture.names() == ["f.bin"])
      }
    }
  }

  @Test func `Update: without a date, the entity tag identifies new versions`() async throws {
    try await DownloadFixture.with([Self.file.with { $0.lastModified = nil }]) { fixture in
      let request = try fixture.request("/f.bin")
      _ = try await fixture.finish(request)
      #expect(try await fixture.finish(request).result.fetched == 0)
      fixture.server.replaceContent("/f.bin", seed: 24)
      let newer = try await fixture.finish(request)
      try fixture.expectWhole("f.bin", seed: 24, length: Self.length, newer)
      #expect(try fixture.names() == ["f.bin"])
    }
  }

  @Test func `Update: without validators, the file is replaced each time`() async throws {
    let silent = Self.file.with {
      $0.lastModified = nil
      $0.entityTag = nil
    }
    try await DownloadFixture.with([silent]) { fixture in
      let request = try fixture.request("/f.bin")
      for _ in 1...3 {
        let outcome = try await fixture.finish(request)
        try fixture.expectWhole("f.bin", seed: 8, length: Self.length, outcome)
        #expect(try fixture.names() == ["f.bin"])
      }
    }
  }

  @Test func `Update: next to a foreign file there is one numbered file, after any number of runs`()
    async throws
  {
    try await DownloadFixture.with([Self.file]) { fixture in
      try fixture.put(Self.old, as: "f.bin")
      let request = try fixture.request("/f.bin")
      _ = try await fixture.finish(request)
      let again = try await fixture.finish(request)
      #expect(again.result.fetched == 0)
      #expect(again.result.path == fixture.path("f (1).bin"))
      fixture.server.replaceContent("/f.bin", seed: 25)
      fixture.server.update("/f.bin") { $0.lastModified = FaultScript.Resource.oldDate + 25 }
      let newer = try await fixture.finish(request)
      try fixture.expectWhole("f (1).bin", seed: 25, length: Self.length, newer)
      #expect(try fixture.names() == ["f (1).bin", "f.bin"])
      #expect(try fixture.contents("f.bin") == Self.old)
    }
  }

  @Test(arguments: [true, false])
  func `Update: a file that is changed during the download is not replaced`(
    isExact: Bool
  ) async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      let request = try fixture.request("/f.bin", as: isExact ? "f.bin" : nil)
      _ = try await fixture.finish(request)
      fixture.server.replaceContent("/f.bin", seed: 26)
      fixture.server.update("/f.bin") { $0.lastModified = FaultScript.Resource.oldDate + 26 }
      fixture.server.setFaults("/f.bin", [Fault(.stall(after: 100_000))])
      async let running = fixture.finish(request)
      try await fixture.server.waitForHeld("/f.bin")
      try fixture.put(Self.old, as: "f.bin")
      fixture.server.release()
      let outcome = try await running
      if isExact {
        try fixture.expectFailure(.nameConflict, outcome)
      } else {
        try fixture.expectWhole("f (1).bin", seed: 26, length: Self.length, outcome)
      }
      #expect(try fixture.contents("f.bin") == Self.old)
    }
  }

  @Test(arguments: [true, false])
  func `Update: a file from another address is not replaced, even with equal length and date`(
    isExact: Bool
  ) async throws {
    let resources = ["/a/f.bin", "/b/f.bin"].enumerated().map { number, path in
      FaultScript.Resource(path, seed: UInt64(number), length: Int64(Self.length)).with {
        $0.entityTag = "\"same\""
      }
    }
    try await DownloadFixture.with(resources) { fixture in
      let name = isExact ? "f.bin" : nil
      _ = try await fixture.finish(try fixture.request("/a/f.bin", as: name))
      let outcome = try await fixture.finish(try fixture.request("/b/f.bin", as: name))
      if isExact {
        try fixture.expectFailure(.nameConflict, outcome)
        #expect(try fixture.names() == ["f.bin"])
      } else {
        try fixture.expectWhole("f (1).bin", seed: 1, length: Self.length, outcome)
      }
      #expect(try fixture.isWhole("f.bin", seed: 0, length: Self.length))
    }
  }

  @Test(arguments: Difference.allCases)
  func `Update: a foreign file at an exact path is a conflict before the body is read`(
    difference: Difference
  ) async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      let request = try fixture.request("/f.bin", as: "f.bin")
      _ = try await fixture.finish(request)
      try change(difference, fixture)
      let bytes = try fixture.contents("f.bin")
      let outcome = try await fixture.finish(request)
      try fixture.expectFailure(.nameConflict, outcome)
      #expect(outcome.result.fetched == 0)
      #expect(try fixture.contents("f.bin") == bytes)
      #expect(try fixture.names() == ["f.bin"])
    }
  }

  @Test(arguments: Difference.allCases)
  func `Update: a foreign file with a derived name leads to a numbered name`(
    difference: Difference
  ) async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      let request = try fixture.request("/f.bin")
      _ = try await fixture.finish(request)
      try change(difference, fixture)
      let bytes = try fixture.contents("f.bin")
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole("f (1).bin", seed: 8, length: Self.length, outcome)
      #expect(outcome.result.path == fixture.path("f (1).bin"))
      #expect(try fixture.contents("f.bin") == bytes)
      #expect(try fixture.names() == ["f (1).bin", "f.bin"])
    }
  }

  private func change(_ difference: Difference, _ fixture: DownloadFixture) throws {
    switch difference {
    case .length: try fixture.put(Self.old, as: "f.bin")
    case .time:
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000)],
        ofItemAtPath: fixture.path("f.bin"))
    }
  }

  @Test(arguments: [true, false])
  func `An existing file with the right digest is reused without network`(isExact: Bool)
    async throws
  {
    try await DownloadFixture.with([Self.file]) { fixture in
      try fixture.put(SeededContent(seed: 8).bytes(at: 0, count: Self.length), as: "f.bin")
      let sum = try checksum()
      let request = try fixture.request("/f.bin", as: isExact ? "f.bin" : nil) {
        $0.checksums = [sum]
      }
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole("f.bin", seed: 8, length: Self.length, outcome)
      #expect(outcome.result.verified == .checksum)
      #expect(outcome.result.checksums == [sum])
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test(arguments: [true, false])
  func `An existing file with another digest counts as a foreign file`(isExact: Bool) async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      try fixture.put(Self.old, as: "f.bin")
      let sum = try checksum()
      let request = try fixture.request("/f.bin", as: isExact ? "f.bin" : nil) {
        $0.checksums = [sum]
      }
      let outcome = try await fixture.finish(request)
      if isExact {
        try fixture.expectFailure(.nameConflict, outcome)
        #expect(fixture.server.snapshot.requests.isEmpty)
      } else {
        try fixture.expectWhole("f (1).bin", seed: 8, length: Self.length, outcome)
        #expect(outcome.result.verified == .checksum)
      }
      #expect(try fixture.contents("f.bin") == Self.old)
    }
  }

  @Test func `Skip: any existing file is accepted without network`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      try fixture.put(Self.old, as: "f.bin")
      let outcome = try await fixture.finish(
        try fixture.request("/f.bin", as: "f.bin") { $0.ifExists = .skip })
      #expect(outcome.result.state == .completed)
      #expect(outcome.result.path == fixture.path("f.bin"))
      #expect(outcome.result.fetched == 0)
      #expect(try fixture.contents("f.bin") == Self.old)
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test func `Fail: any existing file is a conflict without network`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      try fixture.put(Self.old, as: "f.bin")
      let outcome = try await fixture.finish(try fixture.request("/f.bin") { $0.ifExists = .fail })
      try fixture.expectFailure(.nameConflict, outcome)
      #expect(try fixture.contents("f.bin") == Self.old)
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test(arguments: [true, false])
  func `Rename: the new file is saved under the next free number`(isExact: Bool) async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      try fixture.put(Self.old, as: "f.bin")
      let request = try fixture.request("/f.bin", as: isExact ? "f.bin" : nil) {
        $0.ifExists = .rename
      }
      let first = try await fixture.finish(request)
      try fixture.expectWhole("f (1).bin", seed: 8, length: Self.length, first)
      let second = try await fixture.finish(request)
      try fixture.expectWhole("f (2).bin", seed: 8, length: Self.length, second)
      #expect(try fixture.contents("f.bin") == Self.old)
    }
  }

  @Test func `Overwrite: the old file is replaced by the whole new one`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      try fixture.put(Self.old, as: "f.bin")
      let outcome = try await fixture.finish(
        try fixture.request("/f.bin", as: "f.bin") { $0.ifExists = .overwrite })
      try fixture.expectWhole("f.bin", seed: 8, length: Self.length, outcome)
      #expect(try fixture.names() == ["f.bin"])
    }
  }

  @Test(arguments: [false, true])
  func `Skip verifies the digest if one is given`(isRight: Bool) async throws {
    let resource = FaultScript.Resource("/f.bin", seed: 3, length: 1000)
    try await DownloadFixture.with([resource]) { fixture in
      var there = [UInt8](repeating: 0, count: 1000)
      there.withUnsafeMutableBytes { SeededContent(seed: 3).fill($0, at: 0) }
      if !isRight { there = Array("cut off".utf8) }
      try fixture.put(there, as: "f.bin")
      let digest = SeededContent.sha256Hex(seed: 3, length: 1000)
      let outcome = try await fixture.finish(
        try fixture.request("/f.bin", as: "f.bin") {
          $0.ifExists = .skip
          $0.checksums = [try #require(Checksum("sha-256=\(digest)"))]
        })
      #expect(outcome.result.error?.code == (isRight ? nil : .checksumMismatch))
      #expect(outcome.result.verified == (isRight ? .checksum : nil))
      #expect(try fixture.contents("f.bin") == there)
    }
  }
}
