extension Scheduler {
  /// How much may run at the same time. With 0 nothing starts; negative values count as 0.
  package struct Limits: Hashable, Sendable {
    /// Active transfers.
    package var active = 8
    /// Active transfers of one host.
    package var activePerHost = 4
    /// Connections of one transfer.
    package var connectionsPerTransfer = 8
    /// Connections to one host.
    package var connectionsPerHost = 16
    /// All connections.
    package var connections = 64

    package init() {}

    /// The same limits without negative values. A running transfer has at least one connection.
    var sane: Limits {
      var limits = self
      limits.active = max(active, 0)
      limits.activePerHost = max(activePerHost, 0)
      limits.connectionsPerTransfer = max(connectionsPerTransfer, 1)
      limits.connectionsPerHost = max(connectionsPerHost, 0)
      limits.connections = max(connections, 0)
      return limits
    }
  }
}
