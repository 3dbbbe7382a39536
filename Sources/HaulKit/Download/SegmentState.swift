import HaulCore
import NIOConcurrencyHelpers

/// What the driver, its segments and its progress share: the plan, and counters.
final class SharedPlan: Sendable {
  struct State: Sendable {
    var plan: SegmentPlan
    /// Bytes of body that came from the network.
    var fetched: Int64 = 0
    /// What an earlier run left, less what has come again.
    var earlier = ByteRangeSet()
    /// Bytes of an earlier run that have come again, as the server gave the whole.
    var repeated: Int64 = 0

    mutating func cameAgain(_ range: ByteRange) {
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

/// When a connection began to be silent; nil while its bytes are being dealt with.
final class IdleTimer: Sendable {
  private let since: NIOLockedValueBox<Instant?>

  init(since now: Instant) { since = NIOLockedValueBox(now) }

  func begin(at now: Instant) { since.withLockedValue { $0 = now } }
  func end() { since.withLockedValue { $0 = nil } }
  var start: Instant? { since.withLockedValue { $0 } }
}
