import FoundationEssentials
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Common mistakes of downloads in pieces, which must be impossible here.
@Suite struct SegmentedDownloadMistakeTests {
  private static let split = 64 << 10

  /// The first and last byte of every requested closed range.
  private func ranges(_ fixture: DownloadFixture) -> [(first: Int64, last: Int64?)] {
    fixture.server.snapshot.requests.compactMap { record in
      guard let text = record.range?.dropFirst("bytes=".count) else { return nil }
      let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) }
      guard let first = parts[0] else { return nil }
      return (first, parts.count > 1 ? parts[1] : nil)
    }
  }

  @Test(arguments: [-1, 0, 1])
  func `Neighbouring ranges share no byte, and no range is empty`(
    extra: Int
  ) async throws {
    let length = 32 * Self.split + extra
    let held = Fault(.stall(after: Int64(Self.split)), when: .first(3))
    let resource = FaultScript.Resource(
      "/f.bin", seed: 2, length: Int64(length), faults: [held])
    try await DownloadFixture.with([resource]) { fixture in
      async let running = fixture.finish(try fixture.request("/f.bin"))
      try await fixture.server.waitForHeld("/f.bin", count: 3)
      fixture.server.release()
      let outcome = try await running
      try fixture.expectWhole("f.bin", seed: 2, length: length, outcome)
      let asked = ranges(fixture)
      #expect(asked.count > 2, "several pieces were fetched")
      #expect(Set(asked.map(\.first)).count == asked.count)
      for range in asked {
        guard let last = range.last else { continue }
        #expect(range.first <= last && last < Int64(length))
        #expect(!asked.contains { $0.first == last }, "byte \(last) was requested twice")
      }
    }
  }

  /// Runs a download whose first half is sent, and calls `look` with each progress until it returns
  /// true; then the rest is sent.
  private func watch(
    _ request: DownloadRequest, _ fixture: DownloadFixture, look: (TransferProgress) throws -> Bool
  ) async throws -> (TransferResult?, [TransferProgress]) {
    let manager = try TransferManager()
    let events = manager.events()
    try await manager.add(request)
    var (result, seen, isReleased) = (TransferResult?.none, [TransferProgress](), false)
    for await event in events {
      if case .progress(let progress) = event.kind {
        seen.append(progress)
        if !isReleased, try look(progress) {
          isReleased = true
          fixture.server.setFaults("/f.bin", [])
          fixture.server.release()
        }
      }
      if case .finished(let end) = event.kind {
        result = end
        break
      }
    }
    await manager.shutdown()
    return (result, seen)
  }

  private static func halfSent(_ seed: UInt64) -> FaultScript.Resource {
    .init("/f.bin", seed: seed, length: 2 << 20, faults: [Fault(.stall(after: 1 << 20))])
  }

  @Test(.timeLimit(.minutes(10)))
  func `Progress includes intermediate values, never falls, and never exceeds the length`()
    async throws
  {
    try await DownloadFixture.with([Self.halfSent(2)]) { fixture in
      let request = try fixture.request("/f.bin") { $0.connections = 1 }
      let (result, seen) = try await watch(request, fixture) { $0.bytes == 1 << 20 }
      #expect(result?.state == .completed)
      #expect(seen.map(\.bytes) == seen.map(\.bytes).sorted())
      #expect(seen.allSatisfy { $0.bytes >= 0 && $0.bytes <= 2 << 20 })
      #expect(seen.contains { $0.bytes == 1 << 20 && $0.total == 2 << 20 })
    }
  }

  @Test(.timeLimit(.minutes(10)))
  func `Bytes are written as they arrive, and nothing is published before the end`() async throws {
    try await DownloadFixture.with([Self.halfSent(2)]) { fixture in
      let request = try fixture.request("/f.bin") { $0.connections = 1 }
      var names: [String] = []
      let (result, _) = try await watch(request, fixture) { _ in
        guard let there = try? fixture.contents("f.bin.haul.part"), there.count >= 1 << 20,
          SeededContent.matches(seed: 2, there.prefix(1 << 20))
        else { return false }
        names = try fixture.names()
        return true
      }
      #expect(names == ["f.bin.haul.journal", "f.bin.haul.part"])
      #expect(result?.state == .completed)
      #expect(try fixture.isWhole("f.bin", seed: 2, length: 2 << 20))
    }
  }

  @Test(.timeLimit(.minutes(10)))
  func `The existing file stays until the new one is complete`() async throws {
    try await DownloadFixture.with([Self.halfSent(2)]) { fixture in
      try fixture.put([1, 2, 3], as: "f.bin")
      let request = try fixture.request("/f.bin", as: "f.bin") {
        $0.connections = 1
        $0.ifExists = .overwrite
      }
      var old: [UInt8] = []
      let (result, _) = try await watch(request, fixture) { progress in
        guard progress.bytes == 1 << 20 else { return false }
        old = try fixture.contents("f.bin")
        return true
      }
      #expect(old == [1, 2, 3])
      #expect(result?.state == .completed)
      #expect(try fixture.isWhole("f.bin", seed: 2, length: 2 << 20))
    }
  }

  @Test(arguments: [
    Fault.Action.contentRange(value: nil), .contentRange(value: "bytes 0-9/10"),
    .contentRange(value: "bytes */2097152"), .contentRange(value: "nonsense"),
    .shiftRange(by: 1), .shiftRange(by: -1), .multipart, .ignoreRange, .ignoreIfRange,
  ])
  func `A range is accepted only with a correct Content-Range, and no bytes are lost`(
    fault: Fault.Action
  ) async throws {
    let resource = FaultScript.Resource(
      "/f.bin", seed: 2, length: 2 << 20, faults: [Fault(fault, when: .init(offsetAtLeast: 1))])
    try await DownloadFixture.with([resource]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/f.bin"))
      try fixture.expectWhole("f.bin", seed: 2, length: 2 << 20, outcome)
    }
  }

  @Test func `A permanently refused range costs the other connections, not the file`() async throws
  {
    let resource = FaultScript.Resource(
      "/f.bin", seed: 2, length: 2 << 20,
      faults: [
        Fault(.status(404), when: .init(offsetAtLeast: 1)),
        Fault(.stall(after: Int64(Self.split)), when: .request(1)),
      ])
    try await DownloadFixture.with([resource]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/f.bin"))
      try fixture.expectWhole("f.bin", seed: 2, length: 2 << 20, outcome)
    }
  }

  @Test func `Answers shorter than requested leave no hole`() async throws {
    let resource = FaultScript.Resource(
      "/f.bin", seed: 2, length: 1 << 20, faults: [Fault(.shortenRange(to: 50_001))])
    try await DownloadFixture.with([resource]) { fixture in
      let outcome = try await fixture.finish(try fixture.request("/f.bin"))
      try fixture.expectWhole("f.bin", seed: 2, length: 1 << 20, outcome)
    }
  }
}
