import HaulCore
import Testing

/// The rest that would end last is shared by speed, or fetched twice.
@Suite
struct StragglerPlanTests {
  private let first = SegmentID(number: 1)
  private let second = SegmentID(number: 2)

  /// Two segments with 500,000 bytes each.
  private func two() throws -> SegmentPlan {
    var plan = SegmentPlan(length: 1_000_000)
    let ids = [plan.assign(minimumSplit: 1000), plan.assign(minimumSplit: 1000)]
    try #require(ids == [first, second])
    return plan
  }

  @Test
  func `Work is taken from the segment that is expected to end last, not from the longest`() throws
  {
    var plan = try two()
    _ = plan.reserve(second, count: 200_000)
    plan.noteWritten(second)
    let throughputEstimate = ThroughputEstimate(
      rates: [first: 100_000, second: 50_000], medianRate: 100_000)
    let assigned = plan.assign(minimumSplit: 1000, throughputEstimate: throughputEstimate)
    let third = try #require(assigned)
    let taken = try #require(plan.segments[third])
    #expect(plan.segments[first]?.end == 500_000)
    // Both will finish their parts of the 300,000 bytes at the same time.
    #expect(plan.segments[second]?.end == taken.next)
    #expect(abs(taken.remaining - 200_000) < 2)
  }

  @Test func `A small rest is split if the download would wait for it`() throws {
    let rates = [first: 100_000.0, second: 200_000]
    var plan = try two()
    var other = plan
    // 500,000 bytes at 100,000 a second: five seconds.
    check(plan.assign(minimumSplit: 1_000_000) != nil, is: false)
    let throughputEstimate = ThroughputEstimate(rates: rates, medianRate: 200_000)
    check(
      plan.assign(minimumSplit: 1_000_000, throughputEstimate: throughputEstimate) != nil, is: true)
    // A new connection would need longer than that to deliver.
    let slow = ThroughputEstimate(rates: rates, medianRate: 200_000, latency: 3)
    check(other.assign(minimumSplit: 1_000_000, throughputEstimate: slow) != nil, is: false)
  }

  /// The second segment is a straggler; a third one fetches its 500,000 bytes as well.
  private func racing() throws -> (plan: SegmentPlan, third: SegmentID) {
    var plan = try two()
    _ = plan.reserve(second, count: 1000)
    plan.noteWritten(second)
    let throughputEstimate = ThroughputEstimate(
      rates: [first: 1_000_000, second: 0], medianRate: 1_000_000)
    let assigned = plan.assign(minimumSplit: 1_000_000, throughputEstimate: throughputEstimate)
    let third = try #require(assigned)
    return (plan, third)
  }

  @Test func `A straggler's rest is fetched a second time, once`() throws {
    var (plan, third) = try racing()
    #expect(plan.segments[third]?.next == 501_000)
    #expect(plan.segments[third]?.end == 1_000_000)
    #expect(plan.segments[second]?.end == 1_000_000)
    _ = plan.reserve(first, count: 499_000)
    let throughputEstimate = ThroughputEstimate(
      rates: [first: 1_000_000, second: 0, third: 0], medianRate: 1_000_000)
    check(plan.assign(minimumSplit: 1_000_000, throughputEstimate: throughputEstimate), is: nil)
  }

  @Test
  func `Each byte belongs to the first segment that asks for it; the other's byte is dropped`()
    throws
  {
    var (plan, third) = try racing()
    check(
      plan.reserve(second, count: 1000),
      is: .init(pieces: [501_000..<502_000], used: 1000, isLast: false))
    check(
      plan.reserve(third, count: 5000),
      is: .init(pieces: [502_000..<506_000], used: 5000, isLast: false))
    check(
      plan.reserve(second, count: 6000),
      is: .init(pieces: [506_000..<508_000], used: 6000, isLast: false))
    // Bytes that the third wrote do not make those of the second received.
    plan.noteWritten(third)
    #expect(Array(plan.received.ranges) == [500_000..<501_000, 502_000..<506_000])
    plan.noteWritten(second)
    #expect(Array(plan.received.ranges) == [500_000..<508_000])
  }

  @Test func `Bytes that a racing segment reserved and did not write are fetched again`() throws {
    var (plan, third) = try racing()
    _ = plan.reserve(second, count: 1000)
    _ = plan.reserve(third, count: 499_000)
    plan.noteWritten(third)
    plan.release(third)
    plan.release(second)
    #expect(Array(plan.unassigned.ranges) == [501_000..<502_000])
  }

  @Test
  func `The slower one is stopped when nothing is left for it; with the last byte both end`() throws
  {
    var (plan, third) = try racing()
    #expect(plan.redundantSegments.isEmpty)
    check(plan.reserve(third, count: 499_000).isLast, is: true)
    plan.noteWritten(third)
    plan.release(third)
    #expect(plan.redundantSegments == [second])
    check(plan.reserve(second, count: 10), is: .init(pieces: [], used: 10, isLast: true))
  }

  @Test func `If a racing segment fails, the straggler keeps the rest`() throws {
    var (plan, third) = try racing()
    plan.release(third)
    #expect(plan.unassigned.isEmpty)
    #expect(plan.segments[second]?.end == 1_000_000)
    #expect(plan.segments[first]?.end == 500_000)
  }

  @Test(arguments: UInt64(1)...100)
  func `Random walks with stragglers write every byte once`(seed: UInt64) throws {
    var walk = StragglerRandomSequence(seed: seed)
    walk.run()
    #expect(walk.violations.isEmpty, "seed \(seed): \(walk.violations)")
    #expect(walk.plan.isComplete, "seed \(seed)")
  }

  @Test func `The random walks do race`() {
    let count = (UInt64(1)...50).reduce(0) { count, seed in
      var walk = StragglerRandomSequence(seed: seed)
      walk.run()
      return count + walk.races
    }
    #expect(count > 50)
  }
}

/// Segments that reserve, write later or never, and are released, in random order.
private struct StragglerRandomSequence {
  private var random: SplitMix64
  private let length: Int64
  private(set) var plan: SegmentPlan
  private var disk = ByteRangeSet()
  /// Bytes that are reserved and not yet written.
  private var writing: [SegmentID: Grant] = [:]
  private(set) var violations: [String] = []
  private(set) var races = 0

  private typealias Grant = SegmentPlan.Grant

  init(seed: UInt64) {
    random = SplitMix64(seed: seed)
    length = .random(in: 1...1000, using: &random)
    plan = SegmentPlan(length: length)
  }

  mutating func run() {
    for _ in 0..<50_000 {
      if plan.isComplete || !violations.isEmpty { return }
      step()
    }
  }

  private mutating func step() {
    let id = plan.segments.keys.sorted().randomElement(using: &random)
    switch (Int.random(in: 0..<12, using: &random), id) {
    case (0..<2, _) where plan.segments.count < 6: assign()
    case (2, let id?) where writing[id] == nil: plan.release(id)
    case (3, let id?):
      // It was stopped before it could write.
      writing[id] = nil
      plan.release(id)
    case (_, let id?):
      if let grant = writing.removeValue(forKey: id) { return write(grant, of: id) }
      writing[id] = plan.reserve(id, count: .random(in: 1...60, using: &random))
    default: break
    }
    if !plan.received.ranges.allSatisfy(disk.covers) {
      violations.append("received and not written")
    }
  }

  private mutating func assign() {
    let rates = plan.segments.keys.sorted().map { ($0, Double.random(in: 0...100, using: &random)) }
    let throughputEstimate = ThroughputEstimate(
      rates: Dictionary(uniqueKeysWithValues: rates),
      medianRate: .random(in: 1...5000, using: &random)
    )
    let id = plan.assign(
      minimumSplit: .random(in: 1...400, using: &random), throughputEstimate: throughputEstimate)
    if let id, plan.segments[id]?.isShared == true { races += 1 }
  }

  private mutating func write(_ grant: Grant, of id: SegmentID) {
    for piece in grant.pieces {
      if !disk.isDisjoint(ByteRangeSet(piece)) { violations.append("\(piece) written twice") }
      disk.insert(contentsOf: piece)
    }
    plan.noteWritten(id)
    if grant.isLast { plan.release(id) }
  }
}
