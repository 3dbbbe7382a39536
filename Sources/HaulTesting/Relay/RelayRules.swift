/// What a relay does to its connections; rates are bytes per second.
package struct RelayRules: Hashable, Sendable {
  /// The time from sending a byte to its acknowledgement, half of it each way. A connection's first
  /// bytes wait for another round trip, as for the handshake.
  package var roundTrip = Duration.zero
  /// The most bytes in transit in one direction of a connection, so that it carries one window per
  /// round trip.
  package var window = 8 * 1024 * 1024
  /// The rate of the server on one connection.
  package var rate: Int64?
  /// Rates of single connections in place of `rate`, by number, from 1 in order of arrival.
  package var rates: [Int: Int64] = [:]
  /// The rate of the server on all connections together.
  package var total: TotalRate?
  /// The probability of a reset after each buffer (64 KiB) from the server.
  package var resetProbability = 0.0
  package var seed: UInt64 = 1

  package init() {}

  /// A server's total rate, which may depend on the number of open connections.
  package struct TotalRate: Hashable, Sendable {
    package var rate: Int64
    /// Rates, by the number of open connections above which they apply.
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
