/// What a relay does to the connections that pass through it; rates are bytes per second.
package struct RelayRules: Hashable, Sendable {
  /// From the sending of a byte until its acknowledgement; half of it each way. A connection's
  /// first bytes wait for one more, as the handshake would.
  package var roundTrip = Duration.zero
  /// Bytes of one direction of a connection on their way at most, so that a connection carries
  /// a window each round trip.
  package var window = 8 * 1024 * 1024
  /// What the server sends on one connection.
  package var rate: Int64?
  /// The rate of a connection in place of `rate`, by its number: 1 is the first that came.
  package var rates: [Int: Int64] = [:]
  /// What the server sends on all connections together.
  package var total: TotalRate?
  /// The chance that a connection is reset after a buffer (64 KiB) that the server sent on it.
  package var resetProbability = 0.0
  package var seed: UInt64 = 1

  package init() {}

  /// A server's rate in all, which may depend on how many connections are open.
  package struct TotalRate: Hashable, Sendable {
    package var rate: Int64
    /// Rates by the number of open connections above which they hold.
    package var above: [Int: Int64]

    package init(_ rate: Int64, above: [Int: Int64] = [:]) {
      self.rate = rate
      self.above = above
    }

    package func rate(open: Int) -> Int64 {
      above.filter { $0.key < open }.max { $0.key < $1.key }?.value ?? rate
    }
  }

  package func rate(ofConnection number: Int) -> Int64? { rates[number] ?? rate }
}
