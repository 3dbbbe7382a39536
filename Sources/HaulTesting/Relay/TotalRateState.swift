package import NIOCore

/// Shares a server's total rate among its connections: one buffer each, in the order of requests.
package struct TotalRateState: Sendable {
  package enum Turn: Hashable, Sendable {
    /// The connection with that number may send one buffer.
    case grant(Int)
    case wait(NIODeadline)
    /// Idle until a connection requests a turn.
    case idle
  }

  /// The number of open connections, on which the rate depends.
  package var open = 0
  private let rates: RelayRules.TotalRate
  private var asking = CircularBuffer<Int>()
  private var due: NIODeadline
  /// After a longer delay the lost time is forgotten; otherwise a pause would end in a burst.
  private static let maximumLateness = TimeAmount.milliseconds(20)

  package init(_ rates: RelayRules.TotalRate, now: NIODeadline) {
    self.rates = rates
    due = now
  }

  package mutating func ask(_ connection: Int) {
    asking.append(connection)
  }

  package mutating func turn(_ now: NIODeadline) -> Turn {
    guard !asking.isEmpty else { return .idle }
    guard due <= now else { return .wait(due) }
    if now - due > Self.maximumLateness { due = now - Self.maximumLateness }
    return .grant(asking.removeFirst())
  }

  package mutating func sent(_ count: Int) {
    due = due + .nanoseconds(Int64(count) * 1_000_000_000 / max(1, rates.rate(open: open)))
  }
}
