import HaulControl
import HaulCore
import HaulKit
import NIOConcurrencyHelpers

/// The limits of the queue, as they are now. A change lasts until the daemon ends.
final class CurrentLimits: Sendable {
  private let manager: TransferManager
  private let current: NIOLockedValueBox<LimitsDocument>

  init(_ manager: TransferManager, _ configuration: TransferManager.Configuration) {
    self.manager = manager
    var limits = LimitsDocument()
    limits.active = configuration.maximumActive
    limits.activePerHost = configuration.maximumActivePerHost ?? 0
    limits.connectionsPerHost = configuration.connectionsPerHost
    limits.connections = configuration.maximumConnections
    limits.rate = configuration.rateLimit ?? 0
    current = NIOLockedValueBox(limits)
  }

  var document: LimitsDocument {
    get async {
      var limits = current.withLockedValue { $0 }
      limits.schedule = await manager.schedule?.windows.map { .init($0) } ?? []
      return limits
    }
  }

  /// - Throws: `Problem`, and nothing has changed then.
  func apply(_ change: LimitsDocument) async throws {
    try change.check()
    if let windows = change.schedule {
      let windows = try windows.map { (window) throws(Problem) in try window.window() }
      try await manager.setSchedule(windows.isEmpty ? nil : Schedule(windows))
    }
    await manager.setLimits(
      maximumActive: change.active,
      maximumActivePerHost: change.activePerHost.map { $0 == 0 ? .max : $0 },
      connectionsPerHost: change.connectionsPerHost, maximumConnections: change.connections)
    if let rate = change.rate { manager.setRateLimit(rate) }
    current.withLockedValue { limits in
      limits.active = change.active ?? limits.active
      limits.activePerHost = change.activePerHost ?? limits.activePerHost
      limits.connectionsPerHost = change.connectionsPerHost ?? limits.connectionsPerHost
      limits.connections = change.connections ?? limits.connections
      limits.rate = change.rate ?? limits.rate
    }
  }
}
