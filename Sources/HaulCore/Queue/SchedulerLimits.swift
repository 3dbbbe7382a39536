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

  /// Why a queued transfer has not started.
  package enum WaitReason: Hashable, Sendable {
    /// All slots, or all connections, are taken.
    case slot
    /// The host has as many transfers or connections as it may have.
    case hostLimit
    /// The host asked to be left alone.
    case hostBackOff(until: Instant)
    /// The host gives no answer; another transfer asks it, from then on.
    case hostOutage(until: Instant?)
    /// The queue is suspended: nothing starts that is not forced.
    case suspended
    /// The timetable says so, in these words: nothing starts that is not forced.
    case closed(String)
  }
}
