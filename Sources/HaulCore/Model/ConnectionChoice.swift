/// The number of connections that a download chose, and why there are not more.
public struct ConnectionChoice: Sendable, Hashable {
  /// Why there are not more.
  public enum Reason: String, CaseIterable, Sendable, Hashable, Codable {
    /// The limit is reached.
    case limit
    /// More connections bring too little.
    case noGain = "no-gain"
    /// With more connections, the download became slower.
    case slower
    /// The server refused more connections.
    case refused
    /// An earlier transfer of the host ended with this number.
    case remembered
  }

  /// The number of connections.
  public let connections: Int
  /// Why there are not more.
  public let reason: Reason
  /// Their total bytes per second; nil if that was not measured.
  public let rate: Double?

  package init(_ connections: Int, _ reason: Reason, rate: Double? = nil) {
    self.connections = connections
    self.reason = reason
    self.rate = rate
  }
}
