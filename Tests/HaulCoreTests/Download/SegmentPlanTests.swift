import HaulCore
import Testing

/// Segments share a file without overlap.
@Suite
struct SegmentPlanTests {
  private func assigned(_ plan: inout SegmentPlan, _ minimumSplit: Int64) throws -> SegmentID {
    let id = plan.assign(minimumSplit: minimumSplit)
    return try #require(id)
  }

  @Test func `The first segment has everything; the next takes half of the rest`() throws {
    var plan = SegmentPlan(length: 100)
    let first = try assigned(&plan, 10)
    #expect(plan.segments[first]?.end == 100)
    check(plan.reserve(first, count: 20), is: .init(pieces: [0..<20], used: 20, isLast: false))
    let second = try assigned(&plan, 10)
    #expect(plan.segments[first]?.end == 60)
    #expect(plan.segments[second]?.next == 60)
    #expect(plan.segments[second]?.end == 100)
  }

  @Test func `A segment stops at its lowered end, in the middle of received bytes`() throws {
    var plan = SegmentPlan(length: 100)
    let first = try assigned(&plan, 10)
    _ = plan.assign(minimumSplit: 10)
    check(plan.reserve(first, count: 70), is: .init(pieces: [0..<50], used: 50, isLast: true))
    check(plan.reserve(first, count: 1), is: .init(pieces: [], used: 0, isLast: true))
  }

  @Test func `A rest that is too small for two connections is not split`() throws {
    var plan = SegmentPlan(length: 100)
    _ = plan.assign(minimumSplit: 51)
    check(plan.assign(minimumSplit: 51), is: nil)
    check(plan.assign(minimumSplit: 50) != nil, is: true)
  }

  @Test func `Releasing gives back what is not written, reserved or not`() throws {
    var plan = SegmentPlan(length: 100, received: ByteRangeSet(90..<100))
    let first = try assigned(&plan, 10)
    _ = plan.reserve(first, count: 30)
    plan.noteWritten(first)
    _ = plan.reserve(first, count: 30)
    plan.release(first)
    #expect(Array(plan.unassigned.ranges) == [30..<90])
    check(plan.reserve(first, count: 5), is: .init(pieces: [], used: 0, isLast: true))
    plan.noteWritten(first)
    #expect(plan.receivedCount == 40)
  }

  @Test func `A body from byte 0 skips bytes on disk, and is not split`() throws {
    var plan = SegmentPlan(length: 100, received: ByteRangeSet([10..<20, 50..<60].map { $0 }))
    let only = try assigned(&plan, 1)
    plan.receiveWholeBody(only)
    check(
      plan.reserve(only, count: 55),
      is: .init(pieces: [0..<10, 20..<50], used: 55, isLast: false))
    check(plan.assign(minimumSplit: 1), is: nil)
    plan.noteWritten(only)
    check(
      plan.reserve(only, count: 100), is: .init(pieces: [60..<100], used: 45, isLast: true))
    #expect(!plan.isComplete)
    plan.noteWritten(only)
    #expect(plan.isComplete)
  }

  @Test func `An unknown length is one segment until the end is known`() throws {
    var plan = SegmentPlan()
    let only = try assigned(&plan, 1)
    check(plan.assign(minimumSplit: 1), is: nil)
    _ = plan.reserve(only, count: 7)
    plan.noteWritten(only)
    #expect(!plan.isComplete)
    plan.learn(length: 7)
    #expect(plan.isComplete)
  }

  @Test func `Starting over forgets bytes and never reuses a number`() throws {
    var plan = SegmentPlan(length: 10, received: ByteRangeSet(0..<5))
    let first = try assigned(&plan, 1)
    plan.startOver(length: nil)
    #expect(plan.receivedCount == 0)
    let second = try assigned(&plan, 1)
    #expect(second > first)
  }

  @Test(arguments: 1...200)
  func `Random walks write every byte once`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let length = Int64.random(in: 1...500, using: &random)
    let known = Int64.random(in: 0..<length, using: &random)
    var written = ByteRangeSet(known..<min(length, known + 40))
    var plan = SegmentPlan(length: length, received: written)
    for _ in 0..<20_000 where !plan.isComplete {
      try step(&plan, &written, &random, seed)
    }
    #expect(plan.isComplete, "seed \(seed)")
    #expect(written == ByteRangeSet(0..<length), "seed \(seed)")
  }

  private func step(
    _ plan: inout SegmentPlan, _ written: inout ByteRangeSet, _ random: inout SplitMix64,
    _ seed: UInt64
  ) throws {
    let segment = plan.segments.keys.sorted().randomElement(using: &random)
    switch (Int.random(in: 0..<10, using: &random), segment) {
    case (0..<2, _): _ = plan.assign(minimumSplit: .random(in: 1...20, using: &random))
    case (2, let id?):
      plan.release(id)
    case (_, let id?):
      let grant = plan.reserve(id, count: .random(in: 1...30, using: &random))
      for piece in grant.pieces {
        #expect(written.isDisjoint(ByteRangeSet(piece)), "seed \(seed): \(piece) twice")
        written.insert(contentsOf: piece)
      }
      plan.noteWritten(id)
      if grant.isLast { plan.release(id) }
    default: break
    }
    #expect(plan.received == written, "seed \(seed)")
    var taken = plan.received
    for segment in plan.segments.values where segment.written < segment.end {
      let range = segment.written..<segment.end
      #expect(taken.isDisjoint(range), "seed \(seed): segments overlap")
      taken.insert(contentsOf: range)
    }
  }
}
