extension Scheduler {
  /// How much may go on at the same time. Values below 1 count as 1.
  package struct Limits: Hashable, Sendable {
    /// Active transfers.
    package var active = 8
    /// Active transfers of one host.
    package var activePerHost = 4
    /// Connections of one transfer.
    package var connectionsPerTransfer = 8
    /// Connections to one host.
    package var connectionsPerHost = 16
    /// Connections in all.
    package var connections = 64

    package init() {}

    /// The same with every value at least 1: a limit of 0 would wait for ever.
    var sane: Limits {
      var limits = self
      limits.active = max(active, 1)
      limits.activePerHost = max(activePerHost, 1)
      limits.connectionsPerTransfer = max(connectionsPerTransfer, 1)
      limits.connectionsPerHost = max(connectionsPerHost, 1)
      limits.connections = max(connections, 1)
      return limits
    }
  }
}
