import HaulCore
import HaulKit
import HaulTesting
import Testing

@Suite("What a reader has got is never mixed and never taken back", .timeLimit(.minutes(2)))
struct StreamVersionTests {
  private static let held = Fault(.stall(after: 200 * kibi))

  /// Reads until the server holds the answer at 200 KiB, then lets `steer` change it, and reads on.
  private func finish(
    _ bench: Bench, _ request: DownloadRequest, steer: (FaultServer) -> Void
  ) async throws -> StreamRun.Outcome {
    let run = try await StreamRun(request)
    return try await run.finish { count in
      guard count == 200 * kibi else { return }
      try await bench.server.waitForHeld(resourcePath)
      bench.server.setFaults(resourcePath, [])
      steer(bench.server)
      bench.server.dropConnections()
    }
  }

  @Test("Another version, once bytes are out, fails at once with what is out left as it is")
  func changes() async throws {
    try await Bench.serving(.file(512 * kibi, Self.held)) { bench in
      let outcome = try await finish(bench, try bench.stream()) {
        $0.replaceContent(resourcePath, seed: 8)
      }
      #expect(outcome.error?.code == .changedOnServer)
      #expect(outcome.result?.error?.code == .changedOnServer)
      #expect(outcome.isBeginning(seed: 7, count: 200 * kibi))
      #expect(outcome.restarts == 0)
    }
  }

  @Test("Without ranges a repeat from byte 0 skips what is out, when the strong tag is the same")
  func repeats() async throws {
    let resource = FaultScript.Resource.file(512 * kibi, Self.held) { $0.acceptRanges = .none }
    try await Bench.serving(resource) { bench in
      let outcome = try await finish(bench, try bench.stream()) { _ in }
      try bench.expectWhole(outcome)
      #expect(outcome.attempts == 1)
    }
  }

  @Test(
    "Without a strong validator a break ends it, whatever digest was asked for",
    arguments: [true, false])
  func unproved(hasRanges: Bool) async throws {
    let resource = FaultScript.Resource.file(512 * kibi, Self.held) { resource in
      resource.acceptRanges = hasRanges ? .bytes : .none
      resource.entityTag = nil
      resource.lastModified = nil
    }
    try await Bench.serving(resource) { bench in
      let request = try bench.stream(connections: 4) { $0.checksums = rightChecksums() }
      let outcome = try await finish(bench, request) { _ in }
      #expect(outcome.error?.code == .connectionLost)
      #expect(outcome.isBeginning(seed: 7, count: 200 * kibi))
      #expect(bench.requests.count == 1)
    }
  }

  @Test("The digest is of what passed; a wrong one is told after the last byte", arguments: [1, 4])
  func checksum(connections: Int) async throws {
    try await Bench.serving(.file(2 << 20)) { bench in
      for isRight in [true, false] {
        let request = try bench.stream(connections: connections) {
          $0.checksums = rightChecksums(seed: isRight ? 7 : 8, length: 2 << 20)
        }
        let outcome = try await StreamRun(request, window: 512 << 10).finish()
        #expect(outcome.isBeginning(seed: 7, count: 2 << 20))
        #expect(outcome.error?.code == (isRight ? nil : .checksumMismatch))
        #expect(outcome.result?.verified == (isRight ? .checksum : nil))
      }
    }
  }

  @Test("A digest that the server announces is checked too")
  func announced() async throws {
    let wrong = Fault(.digest(field: .repr, wrong: true))
    try await Bench.serving(.file(512 * kibi, wrong)) { bench in
      let outcome = try await StreamRun(try bench.stream(connections: 4)).finish()
      #expect(outcome.error?.code == .checksumMismatch)
      #expect(outcome.isBeginning(seed: 7, count: 512 * kibi))
    }
  }
}
