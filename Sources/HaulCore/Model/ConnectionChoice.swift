/// The number of connections that a download settled on, and why there are not more.
public struct ConnectionChoice: Sendable, Hashable {
  /// Why there are not more.
  public enum Reason: String, CaseIterable, Sendable, Hashable {
    /// As many as are allowed.
    case limit
    /// A further connection brought less than it should.
    case noGain = "no-gain"
    /// With more of them the whole became slower.
    case slower
    /// The server refused a further one.
    case refused
    /// An earlier transfer of the host settled on this number.
    case remembered
  }

  /// Connections.
  public let connections: Int
  /// Why there are not more.
  public let reason: Reason
  /// Bytes per second that they brought together; nil when that was not measured.
  public let rate: Double?

  package init(_ connections: Int, _ reason: Reason, rate: Double? = nil) {
    self.connections = connections
    self.reason = reason
    self.rate = rate
  }
}
