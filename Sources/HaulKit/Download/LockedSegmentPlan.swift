import HaulCore
import NIOConcurrencyHelpers

/// What the driver, its segments and its progress share: the plan and counters.
final class LockedSegmentPlan: Sendable {
  struct State: Sendable {
    var plan: SegmentPlan
    /// Body bytes received from the network.
    var fetched: Int64 = 0
    /// Bytes on disk from an earlier run, without those that were received again.
    var earlier = ByteRangeSet()
    /// Bytes of an earlier run that were received again, because the server sent the whole file.
    var repeated: Int64 = 0

    mutating func noteRepeated(_ range: ByteRange) {
      let count = earlier.byteCount
      earlier.remove(contentsOf: range)
      repeated += count - earlier.byteCount
    }
  }

  private let state: NIOLockedValueBox<State>

  init(_ plan: SegmentPlan) { state = NIOLockedValueBox(State(plan: plan)) }

  func update<Result>(_ body: (inout State) -> Result) -> Result {
    state.withLockedValue(body)
  }
}
