import HaulCore
import NIOConcurrencyHelpers

/// The scheduler behind a lock. The manager starts transfers with it; drivers get connections from
/// it.
final class LockedScheduler: SharedScheduler {
  private let scheduler: NIOLockedValueBox<Scheduler>

  init(_ configuration: TransferManager.Configuration) {
    var limits = Scheduler.Limits()
    limits.active = configuration.maximumActive
    limits.activePerHost = configuration.maximumActivePerHost ?? .max
    limits.connectionsPerHost = configuration.connectionsPerHost
    limits.connections = configuration.maximumConnections
    // One transfer's limit comes from its request and its machine.
    limits.connectionsPerTransfer = .max
    var scheduler = Scheduler(limits)
    scheduler.isSuspended = configuration.isSuspended
    scheduler.limitHosts(configuration.maximumActiveOfHosts)
    self.scheduler = NIOLockedValueBox(scheduler)
  }

  func update<Result>(_ body: (inout Scheduler) -> Result) -> Result {
    scheduler.withLockedValue(body)
  }
}
