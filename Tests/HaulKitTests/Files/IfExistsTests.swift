import FoundationEssentials
import HaulCore
import HaulTestSupport
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
  func `Update: the same length and time is taken as there, and nothing is fetched`(
    isExact: Bool
  ) async throws {
    try await Bench.with([Self.file]) { bench in
      let request = try bench.request("/f.bin", as: isExact ? "f.bin" : nil)
      _ = try await bench.finish(request)
      let inode = try bench.inode("f.bin")
      bench.server.resetStatistics()
      let second = try await bench.finish(request)
      try bench.expectWhole("f.bin", seed: 8, length: Self.length, second)
      #expect(second.result.path == bench.path("f.bin"))
      #expect(second.result.fetched == 0)
      #expect(second.result.reused == Int64(Self.length))
      #expect(bench.server.snapshot.requests.count == 1)
      #expect(try bench.inode("f.bin") == inode)
      #expect(try bench.names() == ["f.bin"])
    }
  }

  enum Difference: CaseIterable, Sendable { case length, time, noTime }

  @Test(arguments: Difference.allCases)
  func `Update: another file of an exact name is a conflict before the body is read`(
    difference: Difference
  ) async throws {
    try await Bench.with([Self.file]) { bench in
      let request = try bench.request("/f.bin", as: "f.bin")
      _ = try await bench.finish(request)
      try change(difference, bench)
      let bytes = try bench.contents("f.bin")
      let outcome = try await bench.finish(request)
      try bench.expectFailure(.nameConflict, outcome)
      #expect(outcome.result.fetched == 0)
      #expect(try bench.contents("f.bin") == bytes)
      #expect(try bench.names() == ["f.bin"])
    }
  }

  @Test(arguments: Difference.allCases)
  func `Update: another file of a derived name gets a neighbour with a number`(
    difference: Difference
  ) async throws {
    try await Bench.with([Self.file]) { bench in
      let request = try bench.request("/f.bin")
      _ = try await bench.finish(request)
      try change(difference, bench)
      let bytes = try bench.contents("f.bin")
      let outcome = try await bench.finish(request)
      try bench.expectWhole("f (1).bin", seed: 8, length: Self.length, outcome)
      #expect(outcome.result.path == bench.path("f (1).bin"))
      #expect(try bench.contents("f.bin") == bytes)
      #expect(try bench.names() == ["f (1).bin", "f.bin"])
    }
  }

  private func change(_ difference: Difference, _ bench: Bench) throws {
    switch difference {
    case .length: try bench.put(Self.old, as: "f.bin")
    case .time:
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000)],
        ofItemAtPath: bench.path("f.bin"))
    case .noTime: bench.server.update("/f.bin") { $0.lastModified = nil }
    }
  }

  @Test(arguments: [true, false])
  func `With a checksum the digest decides, without the network`(isExact: Bool) async throws {
    try await Bench.with([Self.file]) { bench in
      try bench.put(SeededContent(seed: 8).bytes(at: 0, count: Self.length), as: "f.bin")
      let sum = try checksum()
      let request = try bench.request("/f.bin", as: isExact ? "f.bin" : nil) {
        $0.checksums = [sum]
      }
      let outcome = try await bench.finish(request)
      try bench.expectWhole("f.bin", seed: 8, length: Self.length, outcome)
      #expect(outcome.result.verified == .checksum)
      #expect(outcome.result.checksums == [sum])
      #expect(bench.server.snapshot.requests.isEmpty)
    }
  }

  @Test(arguments: [true, false])
  func `With a checksum a file of another digest is another file`(isExact: Bool) async throws {
    try await Bench.with([Self.file]) { bench in
      try bench.put(Self.old, as: "f.bin")
      let sum = try checksum()
      let request = try bench.request("/f.bin", as: isExact ? "f.bin" : nil) {
        $0.checksums = [sum]
      }
      let outcome = try await bench.finish(request)
      if isExact {
        try bench.expectFailure(.nameConflict, outcome)
        #expect(bench.server.snapshot.requests.isEmpty)
      } else {
        try bench.expectWhole("f (1).bin", seed: 8, length: Self.length, outcome)
        #expect(outcome.result.verified == .checksum)
      }
      #expect(try bench.contents("f.bin") == Self.old)
    }
  }

  @Test func `Skip: any file of the name is taken, without the network`() async throws {
    try await Bench.with([Self.file]) { bench in
      try bench.put(Self.old, as: "f.bin")
      let outcome = try await bench.finish(
        try bench.request("/f.bin", as: "f.bin") { $0.ifExists = .skip })
      #expect(outcome.result.state == .completed)
      #expect(outcome.result.path == bench.path("f.bin"))
      #expect(outcome.result.fetched == 0)
      #expect(try bench.contents("f.bin") == Self.old)
      #expect(bench.server.snapshot.requests.isEmpty)
    }
  }

  @Test func `Fail: any file of the name is a conflict, without the network`() async throws {
    try await Bench.with([Self.file]) { bench in
      try bench.put(Self.old, as: "f.bin")
      let outcome = try await bench.finish(try bench.request("/f.bin") { $0.ifExists = .fail })
      try bench.expectFailure(.nameConflict, outcome)
      #expect(try bench.contents("f.bin") == Self.old)
      #expect(bench.server.snapshot.requests.isEmpty)
    }
  }

  @Test(arguments: [true, false])
  func `Rename: the new file is saved under the next free number`(isExact: Bool) async throws {
    try await Bench.with([Self.file]) { bench in
      try bench.put(Self.old, as: "f.bin")
      let request = try bench.request("/f.bin", as: isExact ? "f.bin" : nil) {
        $0.ifExists = .rename
      }
      let first = try await bench.finish(request)
      try bench.expectWhole("f (1).bin", seed: 8, length: Self.length, first)
      let second = try await bench.finish(request)
      try bench.expectWhole("f (2).bin", seed: 8, length: Self.length, second)
      #expect(try bench.contents("f.bin") == Self.old)
    }
  }

  @Test func `Overwrite: the old file is replaced by the whole new one`() async throws {
    try await Bench.with([Self.file]) { bench in
      try bench.put(Self.old, as: "f.bin")
      let outcome = try await bench.finish(
        try bench.request("/f.bin", as: "f.bin") { $0.ifExists = .overwrite })
      try bench.expectWhole("f.bin", seed: 8, length: Self.length, outcome)
      #expect(try bench.names() == ["f.bin"])
    }
  }
}
