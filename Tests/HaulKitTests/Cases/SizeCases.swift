import FoundationEssentials
import HaulCore
import HaulFiles
import HaulKit
import HaulTesting
import Testing

/// Sizes.
@Suite
struct SizeCases {
  @Test func `Case 23: a length beyond 2^53 is read exactly`() async throws {
    let length: Int64 = 1 << 53 + 1
    try await DownloadFixture.serving(.file(length)) { fixture in
      let refused = try await fixture.finish(try fixture.file { $0.maximumSize = length - 1 })
      try fixture.expectFailure(refused, .tooLarge)
      #expect(refused.result.error?.message.contains("9007199254740993") == true)
      let full = try await fixture.finish(try fixture.file())
      try fixture.expectFailure(full, .diskFull)
      #expect(fixture.requests.count == 2)
    }
  }

  static let border: Int64 = 1 << 32

  @Test(arguments: [-1, 0, 1] as [Int64])
  func `Case 24: ranges around 2^32 are split and checked exactly`(distance: Int64) throws {
    let first = Self.border + distance
    let length = first + 1024 * kibi
    var plan = SegmentPlan(length: length, received: ByteRangeSet(0..<first))
    let assigned = plan.assign(minimumSplit: 64 * kibi)
    let id = try #require(assigned)
    let segment = try #require(plan.segments[id])
    #expect(segment.next == first)
    #expect(segment.end == length)
    var request = FetchRequest(url: try ResourceURL("http://example.com/file"))
    request.firstByte = segment.next
    request.lastByte = segment.end - 1
    func verdict(from start: Int64) -> ResponseVerdict {
      let head = ResponseHead(
        status: 206,
        headers: HeaderFields([
          ("Content-Range", "bytes \(start)-\(length - 1)/\(length)"),
          ("Content-Length", "\(length - start)"),
        ]), url: request.url)
      return ResponseJudge(wallSeconds: 0).verdict(on: head, to: request)
    }
    guard case .range(let body) = verdict(from: first) else {
      Issue.record("the range was not taken: \(verdict(from: first))")
      return
    }
    #expect(body.start == first)
    #expect(body.end == length)
    #expect(body.total == length)
    for wrong in [first % Self.border, first - 1, first + 1] where wrong != first {
      guard case .unusableRange = verdict(from: wrong) else {
        Issue.record("a range from \(wrong) was taken for one from \(first)")
        continue
      }
    }
    let grant = plan.reserve(id, count: 1024 << 10)
    #expect(grant.pieces == [first..<length])
    plan.noteWritten(id)
    plan.release(id)
    #expect(plan.isComplete)
  }

  private struct Chunk: ByteChunk {
    let bytes: [UInt8]
    var count: Int { bytes.count }
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
      try bytes.withUnsafeBytes(body)
    }
  }

  @Test
  func `Case 24: bytes are written across 2^32 of a sparse part file, claimed, and found again`()
    throws
  {
    let path = FileManager.default.temporaryDirectory
      .appending(path: "haul-sparse-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let disk = POSIXDisk()
    let directory = try disk.openDirectory(path, creating: true)
    func acquire(_ nonce: UInt8) throws -> PartFile {
      try PartFile.acquire(
        disk: disk, directory: directory, name: "big", nonce: Array(repeating: nonce, count: 16),
        durability: .relaxed)
    }
    let content = SeededContent(seed: 7)
    let range = (Self.border - 1)..<(Self.border + 100_000)
    let bytes = content.bytes(at: range.lowerBound, count: Int(range.length))
    let first = try acquire(1)
    try first.begin(
      JournalHead(
        url: try ResourceURL("http://example.com/big"),
        validator: Validator(entityTag: "\"1\"", lastModified: nil, lastModifiedIsStrong: false),
        length: range.upperBound))
    var writer = try first.writer(at: range.lowerBound, now: Instant())
    try first.write([Chunk(bytes: bytes)], with: &writer, now: Instant())
    try first.claim(&writer)
    first.release()
    let second = try acquire(2)
    defer { second.release() }
    #expect(second.recovery.received == ByteRangeSet(range))
    #expect(try second.holds(bytes, at: range.lowerBound))
    #expect(try second.holds([0], at: range.lowerBound - 1))
    #expect(try second.holds([0], at: 0))
  }

  @Test(arguments: [true, false])
  func `Case 25: an empty file is published, whatever the server answers to its range`(
    servesRanges: Bool
  ) async throws {
    let resource = FaultScript.Resource.file(0) { $0.acceptRanges = servesRanges ? .bytes : .none }
    try await DownloadFixture.serving(resource) { fixture in
      try fixture.expectWhole(try await fixture.finish(try fixture.file()), length: 0)
      // An empty file is believed only without a range.
      #expect(fixture.requests.map(\.status) == [servesRanges ? 416 : 200, 200])
    }
  }

  @Test func `Case 26: one byte`() async throws {
    try await DownloadFixture.serving(.file(1)) { fixture in
      try fixture.expectWhole(try await fixture.finish(try fixture.file(connections: 8)), length: 1)
      #expect(fixture.ranges == ["bytes=0-"])
    }
  }

  @Test(arguments: [1, 2, 4, 8] as [Int64], [-1, 0, 1] as [Int64])
  func `Case 27: no range is empty if the size is a multiple of the segment, or one off`(
    segments: Int64, difference: Int64
  ) async throws {
    let length = segments * 64 * kibi + difference
    try await DownloadFixture.serving(.file(length) { $0.rate = 1 << 20 }) { fixture in
      try fixture.expectWhole(
        try await fixture.finish(try fixture.file(connections: 8)), length: length)
      for range in fixture.ranges {
        let ends = range.dropFirst("bytes=".count).split(separator: "-").compactMap { Int64($0) }
        let first = try #require(ends.first)
        #expect(first < length, "\(range)")
        if let last = ends.dropFirst().first { #expect(first <= last && last < length, "\(range)") }
      }
    }
  }

  @Test(arguments: [-1, 0, 1] as [Int64])
  func `Case 27: the plan never creates an empty segment`(difference: Int64) {
    for segments in 1...9 as ClosedRange<Int64> {
      let length = segments * 10 + difference
      var plan = SegmentPlan(length: length)
      while plan.assign(minimumSplit: 10) != nil {}
      let ranges = plan.segments.values.map { $0.next..<$0.end }
      #expect(ranges.allSatisfy { !$0.isEmpty })
      #expect(ranges.reduce(0) { $0 + $1.length } == length)
    }
  }

  @Test
  func `Case 28: a 416 with the received length as total completes a file of unknown length`()
    async throws
  {
    let whole = Fault(.ignoreRange, .chunked(), .stall(after: 512 * kibi))
    try await DownloadFixture.serving(.file(512 * kibi, whole)) { fixture in
      try await fixture.interrupt(try fixture.file(), at: 512 * kibi)
      fixture.server.setFaults(resourcePath, [])
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(outcome.restarts == 0)
      #expect(fixture.requests.map(\.status) == [416])
    }
  }

  @Test(arguments: [true, false])
  func `Case 28: any other 416 costs no bytes on disk, and never loops`(withTotal: Bool)
    async throws
  {
    try await DownloadFixture.serving(.file(512 * kibi, VersionCases.half)) { fixture in
      try await fixture.interrupt(try fixture.file())
      fixture.server.setFaults(
        resourcePath,
        [Fault(.rangeNotSatisfiable(withTotal: withTotal), when: .init(offsetAtLeast: 1))])
      let outcome = try await fixture.finish(try fixture.file())
      try fixture.expectWhole(outcome)
      #expect(outcome.restarts == 0)
      #expect(fixture.requests.count <= 5)
      #expect(fixture.ranges.last == "-", "the whole file is requested, and the bytes are skipped")
    }
  }
}
