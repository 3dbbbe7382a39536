/// The statistics of a relay.
package struct RelaySnapshot: Hashable, Sendable {
  /// The number of open connections from a time on, counted from the relay's start.
  package struct Step: Hashable, Sendable {
    package var nanoseconds: Int64
    package var open: Int

    package init(nanoseconds: Int64, open: Int) {
      self.nanoseconds = nanoseconds
      self.open = open
    }
  }

  package var accepted = 0
  /// Connections that random resets ended.
  package var resets = 0
  /// Bytes that were handed to clients.
  package var bytes: Int64 = 0
  package var history: [Step] = []

  package init() {}

  package var mostOpen: Int { history.map(\.open).max() ?? 0 }

}

/// One object: accepted, resets, bytes, mostOpen, and history as pairs of milliseconds and open
/// connections.
extension RelaySnapshot: Encodable {
  private enum Key: String, CodingKey { case accepted, resets, bytes, mostOpen, history }

  package func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(accepted, forKey: .accepted)
    try object.encode(resets, forKey: .resets)
    try object.encode(bytes, forKey: .bytes)
    try object.encode(mostOpen, forKey: .mostOpen)
    try object.encode(
      history.map { [$0.nanoseconds / 1_000_000, Int64($0.open)] }, forKey: .history)
  }
}
