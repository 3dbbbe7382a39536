import FoundationEssentials
import HaulControl
import HaulCore
import HaulKit

/// The limits of the queue, as they are now. A change is kept in a file, above the options of the
/// daemon, until it is changed again or taken back.
actor CurrentLimits {
  private let manager: TransferManager
  private let file: StateFile
  private var options: LimitsDocument
  /// What was changed.
  private var changed = LimitsDocument()
  /// Whose word the schedule is.
  private(set) var scheduleOrigin = CurrentLimits.optionsOrigin

  private static let optionsOrigin = "haul.conf or haul serve"

  init(
    _ manager: TransferManager, _ configuration: TransferManager.Configuration, _ file: StateFile
  ) {
    (self.manager, self.file) = (manager, file)
    options = LimitsDocument(configuration)
  }

  var document: LimitsDocument { options.changed(by: changed) }

  /// Reads what was changed while an earlier daemon ran.
  func restore() async throws {
    guard let bytes = try file.read() else { return }
    try await set(try StrictJSON.decode(LimitsDocument.self, from: Data(bytes)))
  }

  /// - Throws: `Problem`, `io`, `disk-full`, and nothing has changed then.
  func apply(_ change: LimitsDocument) async throws {
    let before = changed
    try await set(change)
    do {
      try file.write(try StrictJSON.encode(changed))
    } catch {
      changed = before
      try await use(document, isChange: before.schedule != nil)
      throw error
    }
  }

  /// The options of the daemon count again.
  /// - Throws: `io`.
  func reset() async throws {
    try file.remove()
    try await use(options, isChange: false)
    changed = LimitsDocument()
  }

  /// The options of the daemon are others now. What was changed stays above them.
  /// - Throws: `Problem`, and nothing has changed then.
  func setOptions(_ new: LimitsDocument) async throws {
    try await use(new.changed(by: changed), isChange: changed.schedule != nil)
    options = new
  }

  /// The keys of `haul.conf` for what was changed.
  var changedKeys: [String] {
    let keys: [(String, Bool)] = [
      ("max-active", changed.active != nil), ("max-per-host", changed.activePerHost != nil),
      ("max-connections", changed.connections != nil),
      ("max-connections-per-host", changed.connectionsPerHost != nil),
      ("limit-rate", changed.rate != nil), ("schedule", changed.schedule != nil),
    ]
    return keys.filter(\.1).map(\.0)
  }

  private func set(_ change: LimitsDocument) async throws {
    try await use(change, isChange: true)
    changed = changed.changed(by: change)
  }

  /// - Parameter isChange: whether the schedule is not that of the options.
  private func use(_ change: LimitsDocument, isChange: Bool) async throws {
    try change.check()
    if let windows = change.schedule {
      let windows = try windows.map { (window) throws(Problem) in try window.window() }
      // Before the schedule counts: the log says whose word it is.
      scheduleOrigin = isChange ? "haul limits" : Self.optionsOrigin
      try await manager.setSchedule(windows.isEmpty ? nil : Schedule(windows))
    }
    await manager.setLimits(
      maximumActive: change.active,
      maximumActivePerHost: change.activePerHost.map { $0 == 0 ? .max : $0 },
      connectionsPerHost: change.connectionsPerHost, maximumConnections: change.connections)
    if let rate = change.rate { manager.setRateLimit(rate) }
    // What still waits may do so for another reason now.
    await manager.coordinator.emitSlotWaits()
  }
}

extension LimitsDocument {
  /// The limits that a manager begins with.
  init(_ configuration: TransferManager.Configuration) {
    self.init()
    active = configuration.maximumActive
    activePerHost = configuration.maximumActivePerHost ?? 0
    connectionsPerHost = configuration.connectionsPerHost
    connections = configuration.maximumConnections
    rate = configuration.rateLimit ?? 0
    schedule = configuration.schedule?.windows.map { .init($0) } ?? []
  }

  /// With the values that another one has.
  fileprivate func changed(by other: LimitsDocument) -> LimitsDocument {
    var limits = LimitsDocument()
    limits.active = other.active ?? active
    limits.activePerHost = other.activePerHost ?? activePerHost
    limits.connectionsPerHost = other.connectionsPerHost ?? connectionsPerHost
    limits.connections = other.connections ?? connections
    limits.rate = other.rate ?? rate
    limits.schedule = other.schedule ?? schedule
    return limits
  }
}
