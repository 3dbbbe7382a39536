import HaulCore
import Testing

/// Ranges for a reader that reads in order.
@Suite
struct StreamPlanTests {
  private func plan(connections: Int = 4) -> SegmentPlan {
    SegmentPlan(window: StreamWindow(size: 80, connections: connections))
  }

  private func assigned(_ plan: inout SegmentPlan) throws -> SegmentID {
    let id = plan.assign(minimumSplit: 1)
    return try #require(id)
  }

  private func range(_ plan: SegmentPlan, _ id: SegmentID?) -> ClosedRange<Int64>? {
    id.flatMap { plan.segments[$0] }.map { $0.next...($0.end - 1) }
  }

  @Test func `Each connection takes the next piece, and none begins beyond the window`() throws {
    var plan = plan()
    let first = try assigned(&plan)
    plan.learn(length: 1000)
    var ranges: [ClosedRange<Int64>?] = []
    while let id = plan.assign(minimumSplit: 1) { ranges.append(range(plan, id)) }
    #expect(range(plan, first) == 0...9)
    #expect(ranges == [10...19, 20...29, 30...39, 40...49, 50...59, 60...69, 70...79])
    plan.noteRead(upTo: 5)
    let next = plan.assign(minimumSplit: 1)
    #expect(range(plan, next) == 80...89)
  }

  @Test func `A single connection fetches everything in one request`() throws {
    var plan = plan(connections: 1)
    let first = try assigned(&plan)
    plan.learn(length: 1000)
    #expect(range(plan, first) == 0...999)
    _ = plan.reserve(first, count: 30)
    plan.noteWritten(first)
    plan.release(first)
    let next = plan.assign(minimumSplit: 1)
    #expect(range(plan, next) == 30...999)
  }

  @Test func `Once the reader has bytes, no bytes of an earlier version are handed out`() {
    var plan = plan()
    plan.startOver(length: nil)
    let isOld = plan.commitToReader(generation: 0)
    #expect(!isOld)
    #expect(!plan.isCommitted)
    let isNew = plan.commitToReader(generation: 1)
    #expect(isNew)
    #expect(plan.isCommitted)
  }
}
