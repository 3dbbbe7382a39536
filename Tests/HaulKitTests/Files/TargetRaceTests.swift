import FoundationEssentials
import HaulCore
import HaulTestSupport
import Testing

@Suite struct TargetRaceTests {
  private static let length = 2 << 20

  /// Runs `request`, and `meanwhile` once bytes of it are on the disk; then lets the server go on.
  private func run(
    _ bench: Bench, _ request: TransferRequest, meanwhile: () async throws -> Void
  ) async throws -> Bench.Outcome {
    async let outcome = bench.finish(request)
    try await bench.server.waitForHeld("/f.bin", count: 2)
    try await meanwhile()
    bench.server.setFaults("/f.bin", [])
    bench.server.release()
    return try await outcome
  }

  @Test
  func
    `Case 65: a file that appears meanwhile is kept, and the transfer fails with its bytes kept`()
    async throws
  {
    try await Bench.with([.stalling("/f.bin", seed: 65)]) { bench in
      let request = try bench.request("/f.bin", as: "f.bin")
      let outcome = try await run(bench, request) { try bench.put([1, 2, 3], as: "f.bin") }
      try bench.expectFailure(.nameConflict, outcome)
      #expect(try bench.contents("f.bin") == [1, 2, 3])
      #expect(try bench.names() == ["f.bin", "f.bin.haul.journal", "f.bin.haul.part"])
      try FileManager.default.removeItem(atPath: bench.path("f.bin"))
      let second = try await bench.finish(request)
      try bench.expectWhole("f.bin", seed: 65, length: Self.length, second)
      #expect(second.result.fetched == 0, "everything was there")
    }
  }

  @Test func `Case 65: with a derived name the new file gets a number`() async throws {
    try await Bench.with([.stalling("/f.bin", seed: 65)]) { bench in
      let outcome = try await run(bench, try bench.request("/f.bin")) {
        try bench.put([1, 2, 3], as: "f.bin")
        try bench.put([4], as: "f (1).bin")
      }
      try bench.expectWhole("f (2).bin", seed: 65, length: Self.length, outcome)
      #expect(outcome.result.path == bench.path("f (2).bin"))
      #expect(try bench.contents("f.bin") == [1, 2, 3])
      #expect(try bench.contents("f (1).bin") == [4])
      #expect(try bench.names() == ["f (1).bin", "f (2).bin", "f.bin"])
    }
  }

  @Test func `Case 65: a directory that appears under the name is not replaced`() async throws {
    try await Bench.with([.stalling("/f.bin", seed: 65)]) { bench in
      let request = try bench.request("/f.bin", as: "f.bin") { $0.ifExists = .overwrite }
      let outcome = try await run(bench, request) {
        try FileManager.default.createDirectory(
          atPath: bench.path("f.bin"), withIntermediateDirectories: true)
      }
      #expect(outcome.result.state == .failed)
      #expect([.notARegularFile, .nameConflict].contains(outcome.code), "\(outcome.result)")
      #expect(try bench.names() == ["f.bin", "f.bin.haul.journal", "f.bin.haul.part"])
    }
  }

  @Test(arguments: [true, false])
  func `Case 66: of two managers on one target one wins, the other is told, the file is right`(
    isExact: Bool
  ) async throws {
    try await Bench.with([.stalling("/f.bin", seed: 66)]) { bench in
      let request = try bench.request("/f.bin", as: isExact ? "f.bin" : nil)
      let requests = bench.server.snapshot
      let outcome = try await run(bench, request) {
        try bench.expectFailure(.inUse, try await bench.finish(request), without: "f.bin")
      }
      #expect(requests.requests.isEmpty)
      try bench.expectWhole("f.bin", seed: 66, length: Self.length, outcome)
      #expect(try bench.names() == ["f.bin"])
    }
  }

  @Test
  func `Case 67: a part file deleted while it runs is told, and the next run brings the file`()
    async throws
  {
    try await Bench.with([.stalling("/f.bin", seed: 67)]) { bench in
      let request = try bench.request("/f.bin", as: "f.bin")
      let outcome = try await run(bench, request) {
        try FileManager.default.removeItem(atPath: bench.path("f.bin.haul.part"))
      }
      try bench.expectFailure(.io, outcome, without: "f.bin")
      let second = try await bench.finish(request)
      try bench.expectWhole("f.bin", seed: 67, length: Self.length, second)
    }
  }

  @Test func `Case 67: a part file replaced while it runs is never given the final name`()
    async throws
  {
    try await Bench.with([.stalling("/f.bin", seed: 67)]) { bench in
      let request = try bench.request("/f.bin", as: "f.bin")
      let outcome = try await run(bench, request) {
        try FileManager.default.removeItem(atPath: bench.path("f.bin.haul.part"))
        try bench.put([9, 9, 9], as: "f.bin.haul.part")
      }
      #expect(outcome.result.state == .failed, "\(outcome.result)")
      #expect(try !bench.names().contains("f.bin"))
      #expect(try bench.contents("f.bin.haul.part") == [9, 9, 9])
    }
  }

  @Test func `Case 67, E4: a directory that goes away while it runs is a failure`() async throws {
    try await Bench.with([.stalling("/f.bin", seed: 67)]) { bench in
      try FileManager.default.createDirectory(
        atPath: bench.path("sub"), withIntermediateDirectories: true)
      let outcome = try await run(bench, try bench.request("/f.bin", as: "sub/f.bin")) {
        try FileManager.default.removeItem(atPath: bench.path("sub"))
      }
      #expect(outcome.result.state == .failed, "\(outcome.result)")
      #expect(try bench.names().isEmpty, "the directory is not made again")
    }
  }
}
