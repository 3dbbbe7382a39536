public import HaulCore
import NIOConcurrencyHelpers

extension TransferManager {
  /// Starts nothing new until `unsuspend`; what runs continues. It is not stored: after a crash or
  /// a shutdown, `Configuration.isSuspended` says how the list opens.
  public func suspend() async { await coordinator.setSuspended(true) }

  /// Ends a suspension. Returns when the transfers that may run have started.
  public func unsuspend() async { await coordinator.setSuspended(false) }

  /// Whether nothing new starts, because of `suspend` or `Configuration.isSuspended`.
  public var isSuspended: Bool { coordinator.engine.scheduler.update { $0.isSuspended } }

  /// What happens to the queue and belongs to no transfer, for one reader.
  package var notes: AsyncStream<QueueNote> { coordinator.engine.notes }

  /// Its configuration, with the present limits, schedule and suspension.
  public var configuration: Configuration {
    let engine = coordinator.engine
    var configuration = engine.configuration
    let (limits, isSuspended) = engine.scheduler.update { ($0.limits, $0.isSuspended) }
    configuration.maximumActive = limits.active
    configuration.maximumActivePerHost = limits.activePerHost == .max ? nil : limits.activePerHost
    configuration.connectionsPerHost = limits.connectionsPerHost
    configuration.maximumConnections = limits.connections
    configuration.isSuspended = isSuspended
    configuration.rateLimit = engine.throttle.rate
    configuration.schedule = engine.schedule.withLockedValue(\.self)
    return configuration
  }

  /// Changes limits of `Configuration` while transfers run: nil keeps one, with 0 nothing starts,
  /// `.max` is none. Higher limits start more; lower ones stop nothing that runs. They are not
  /// stored.
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

  /// Changes when transfers run. Returns when those that may run have started, and the others were
  /// asked to stop.
  ///
  /// At the end of a window running downloads stop, keep their bytes and positions, and resume in
  /// the next one. Steps and streams, which would lose their work, and what was forced since, run
  /// to their end. Outside of the windows only forced transfers start.
  /// - Parameter schedule: nil for always. It is not stored.
  /// - Throws: `refused` for an unknown time zone, or a window with impossible minutes; nothing
  ///   has changed then.
  public func setSchedule(_ schedule: Schedule?) async throws(TransferError) {
    try await coordinator.setSchedule(schedule)
  }
}
