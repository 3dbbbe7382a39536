/// Limits, while transfers run. A value below 1 counts as 1, and nil leaves what is there.
extension TransferManager {
  /// Changes how many transfers run at once, and how many connections they have. Raising starts more; lowering stops none: what
  /// there is too much of is not begun again when it has ended.
  /// - Parameters:
  ///   - active: transfers in all.
  ///   - activePerHost: transfers of one host.
  ///   - connectionsPerHost: connections to one host, all transfers together.
  ///   - connectionsInAll: connections of all transfers together.
  public func setLimits(
    active: Int? = nil, activePerHost: Int? = nil, connectionsPerHost: Int? = nil,
    connectionsInAll: Int? = nil
  ) async {
    engine.slots.update { scheduler in
      var limits = scheduler.limits
      limits.active = active ?? limits.active
      limits.activePerHost = activePerHost ?? limits.activePerHost
      limits.connectionsPerHost = connectionsPerHost ?? limits.connectionsPerHost
      limits.connections = connectionsInAll ?? limits.connections
      scheduler.setLimits(limits)
    }
    await startWhatMay()
  }

  /// Changes how many bytes per second all transfers get together, from now on; nil for no limit. Those who wait for their share
  /// go on by the new one.
  public nonisolated func setRateLimit(_ bytesPerSecond: Int64?) {
    engine.throttle.setRate(bytesPerSecond)
  }
}
