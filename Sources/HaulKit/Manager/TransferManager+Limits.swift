public import HaulCore

extension TransferManager {
  /// Starts nothing new until `unsuspend`; what runs continues. It is not stored: after a crash or
  /// a shutdown, `Configuration.isSuspended` says how the list opens.
  public func suspend() async { await coordinator.setSuspended(true) }

  /// Ends `suspend`, or the suspension with which the list was opened. Returns when the transfers
  /// that may run have started.
  public func unsuspend() async { await coordinator.setSuspended(false) }

  /// Whether nothing new starts, because of `suspend` or `Configuration.isSuspended`.
  public var isSuspended: Bool { coordinator.engine.slots.update { $0.isSuspended } }

  /// Changes the limits while transfers run: nil keeps a limit, with 0 nothing starts. Higher
  /// limits start more; lower ones stop nothing that runs. They are not stored.
  /// - Parameters:
  ///   - maximumActive: transfers that run at once.
  ///   - maximumActivePerHost: transfers that run at once from one host; `.max` for no limit except
  ///     `maximumActive`.
  ///   - connectionsPerHost: connections to one host, across all transfers.
  ///   - maximumConnections: connections of all transfers.
  public func setLimits(
    maximumActive: Int? = nil, maximumActivePerHost: Int? = nil, connectionsPerHost: Int? = nil,
    maximumConnections: Int? = nil
  ) async {
    await coordinator.setLimits { limits in
      limits.active = maximumActive ?? limits.active
      limits.activePerHost = maximumActivePerHost ?? limits.activePerHost
      limits.connectionsPerHost = connectionsPerHost ?? limits.connectionsPerHost
      limits.connections = maximumConnections ?? limits.connections
    }
  }

  /// Changes the rate limit of all transfers together, at once; nil or 0 for none.
  public func setRateLimit(_ bytesPerSecond: Int64?) {
    coordinator.engine.throttle.setRate(bytesPerSecond)
  }

  /// When transfers run; nil for always.
  public var schedule: Schedule? {
    get async { await coordinator.scheduleMonitor.localSchedule?.schedule }
  }

  /// Changes when transfers run. Returns when those that may run have started, and the others were
  /// asked to stop.
  ///
  /// Outside of the schedule only forced transfers start. At the end of a window running downloads
  /// stop: they keep their bytes and places, count no attempt, and resume by themselves in the next
  /// window. Steps and streams, which would lose their work, run to their end, and so does what was
  /// forced since the window ended. Paused transfers stay paused.
  /// - Parameter schedule: nil for always. It is not stored.
  /// - Throws: `internal` for an unknown time zone, or a window with impossible minutes; nothing
  ///   has changed then.
  public func setSchedule(_ schedule: Schedule?) async throws(TransferError) {
    try await coordinator.setSchedule(schedule)
  }
}
