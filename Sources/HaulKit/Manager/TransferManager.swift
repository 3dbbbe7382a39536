public import HaulCore

/// Runs transfers: downloads and steps, many at once, in an order, within limits.
///
/// Each command is stored before it returns. `pause` and `cancel` return when the connections are
/// closed and the bytes are claimed. `withTransferManager` shuts a manager down at the end of a
/// scope, `shutdown` at any time; without them it shuts down when nothing refers to it any more.
public final class TransferManager: Sendable {
  package let coordinator: QueueCoordinator
  private let onShutdown: @Sendable () async -> Void
  /// What was damaged in the stored list when it was opened, and where it is now; usually nil.
  public let damage: TransferError?

  /// A manager whose list lives in memory. It reads files of certificates on the calling thread.
  /// - Parameters:
  ///   - configuration: its limits hold for every transport; what it says of connections (timeouts,
  ///     certificates, proxies, addresses, `User-Agent`) only for Haul's own.
  ///   - transport: sends the requests in place of Haul's own: a mock, or a session of the system.
  ///     It stays yours, also after `shutdown`.
  /// - Throws: `tls` when a file of certificates or keys cannot be read or holds none; `refused`
  ///   for a schedule as `setSchedule` does.
  public convenience init(
    _ configuration: TransferManager.Configuration = TransferManager.Configuration(),
    transport: (any Transport)? = nil
  ) throws(TransferError) {
    try self.init(configuration, replacing: PortOverrides(transport: transport))
  }

  /// A manager whose list is in your store. It continues at once with what is stored: transfers
  /// that ran are queued again, paused ones are paused, unfinished commands are carried out.
  ///
  /// The store of `TransferManager(directory:)`, in the product `HaulStore`, survives a power cut.
  /// - Parameters:
  ///   - store: for this manager alone, which opens it, and closes it in `shutdown`.
  ///   - configuration: is not stored.
  ///   - transport: as for `init(_:transport:)`.
  ///   - steps: the closures of the listed steps, by name; the store cannot keep closures.
  /// - Throws: what `Store.open()` throws; `tls` and `refused` as `init(_:transport:)`.
  /// - Complexity: O(members of the list).
  public convenience init(
    store: any Store,
    _ configuration: TransferManager.Configuration = TransferManager.Configuration(),
    transport: (any Transport)? = nil, steps: [String: StepClosure] = [:]
  ) async throws(TransferError) {
    try await self.init(
      configuration, replacing: PortOverrides(transport: transport), steps: steps
    ) { _ in OpenedStore(store: store) }
  }

  package convenience init(
    _ configuration: TransferManager.Configuration, replacing ports: PortOverrides
  ) throws(TransferError) {
    let ports = try SystemPorts(configuration, ports)
    self.init(engine: ports.engine, store: MemoryStore(), onShutdown: ports.shutdown)
  }

  /// A manager that continues with what is in the store that `opening` makes.
  /// - Throws: what `opening` throws, and as `init(store:_:transport:steps:)`.
  package convenience init(
    _ configuration: TransferManager.Configuration, replacing ports: PortOverrides,
    steps: [String: StepClosure],
    opening: @Sendable (any TransferClock) async throws(TransferError) -> OpenedStore
  ) async throws(TransferError) {
    let (ports, opened) = try await SystemPorts.open(configuration, ports, opening)
    self.init(
      engine: ports.engine, store: opened.store, damage: opened.damage, onShutdown: ports.shutdown)
    if let damage { ports.engine.log(damage) }
    do throws(TransferError) {
      for (name, step) in steps { register(step: name, step) }
      try await coordinator.open()
    } catch {
      await shutdown()
      throw error
    }
  }

  package init(
    engine: Engine, store: any Store = MemoryStore(),
    portionSize: Int = QueueCoordinator.portionSize,
    damage: TransferError? = nil, onShutdown: @escaping @Sendable () async -> Void = {}
  ) {
    self.damage = damage
    self.onShutdown = onShutdown
    coordinator = QueueCoordinator(engine: engine, store: store, portionSize: portionSize)
  }

  deinit {
    Task(executorPreference: coordinator.engine.soleExecutor) { [coordinator, onShutdown] in
      await coordinator.shutDown(then: onShutdown)
    }
  }

  /// Stops what runs, closes every connection, and ends every event stream.
  ///
  /// When the store is opened again, transfers that ran are queued and paused ones are paused. The
  /// task of a step that does not pause is cancelled after four seconds. After five, what still
  /// runs is abandoned: a step counts as interrupted, a download resumes from its last checkpoint.
  public func shutdown() async { await coordinator.shutDown(then: onShutdown) }
}
