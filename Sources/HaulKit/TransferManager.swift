public import HaulCore

/// Runs transfers: downloads and steps, many at once, in an order, with limits.
///
/// Each command is stored before it returns, and, where something must stop first, carried out:
/// when `pause` returns, the connections are closed and the bytes are claimed.
/// `withTransferManager` shuts it down at the end of a scope, and `shutdown` at any time; one that
/// nobody refers to any more shuts down by itself in the background.
public final class TransferManager: Sendable {
  private let coordinator: QueueCoordinator
  private let engine: Engine
  private let onShutdown: @Sendable () async -> Void
  private let damageOfList: TransferError?

  /// What of the stored list was damaged when it was opened, and where it is now; nil in the
  /// ordinary case.
  public var damage: TransferError? { damageOfList }

  /// A manager whose list lives in memory. Files of certificates are read on the calling thread.
  /// - Throws: `tls` when a file of certificates or keys cannot be read or holds none; `internal`
  ///   for a schedule as `setSchedule` does.
  public convenience init(
    _ configuration: TransferManager.Configuration = TransferManager.Configuration()
  ) throws(TransferError) {
    try self.init(configuration, replacing: ReplacedPorts())
  }

  /// A manager whose list lives in memory, and whose requests a transport of the caller's sends: a
  /// mock, or a session of the system's. Haul opens no connection then.
  /// - Parameters:
  ///   - configuration: what it says of connections (timeouts, certificates, proxies, addresses,
  ///     `User-Agent`) is for Haul's own transport, and holds for no other; the limits do.
  ///   - transport: belongs to the caller, also after `shutdown`.
  /// - Throws: `internal` for a schedule as `setSchedule` does.
  public convenience init(
    _ configuration: TransferManager.Configuration = TransferManager.Configuration(),
    transport: any Transport
  ) throws(TransferError) {
    try self.init(configuration, replacing: ReplacedPorts(transport: transport))
  }

  /// A manager whose list is in a store of the caller's. What is there goes on at once: what ran
  /// waits for a slot again, what was paused is paused, orders that were not carried out are.
  ///
  /// `TransferManager(directory:)` of the product `HaulStore` has a store that survives the program
  /// and a power cut.
  /// - Parameters:
  ///   - store: for this manager alone, which opens it, and closes it in `shutdown`.
  ///   - configuration: holds while the manager lives; it is not stored.
  ///   - transport: what sends the requests, as for `init(_:transport:)`; nil for Haul's own.
  ///   - steps: the steps that are in the list, by their names: what they do is not stored.
  /// - Throws: what `Store.open()` throws; `tls` and `internal` as `init(_:)`.
  /// - Complexity: O(members of the list).
  public convenience init(
    store: any Store,
    _ configuration: TransferManager.Configuration = TransferManager.Configuration(),
    transport: (any Transport)? = nil, steps: [String: StepClosure] = [:]
  ) async throws(TransferError) {
    try await self.init(
      configuration, replacing: ReplacedPorts(transport: transport), steps: steps
    ) { _ in OpenedStore(store: store) }
  }

  /// A manager whose list lives in memory, over some ports of the caller's.
  package convenience init(
    _ configuration: TransferManager.Configuration, replacing ports: ReplacedPorts
  ) throws(TransferError) {
    let ports = try SystemPorts(configuration, ports)
    self.init(engine: ports.engine, store: MemoryStore(), onShutdown: ports.shutdown)
  }

  /// A manager over a store that `opening` makes, with what is in it taken up.
  /// - Throws: what `opening` throws, and as `init(store:_:transport:steps:)`.
  package convenience init(
    _ configuration: TransferManager.Configuration, replacing ports: ReplacedPorts,
    steps: [String: StepClosure],
    opening: @Sendable (any TransferClock) async throws(TransferError) -> OpenedStore
  ) async throws(TransferError) {
    let (ports, opened) = try await SystemPorts.open(configuration, ports, opening)
    self.init(
      engine: ports.engine, store: opened.store, damage: opened.damage, onShutdown: ports.shutdown)
    if let damage { engine.log(damage) }
    do throws(TransferError) {
      for (name, step) in steps { await register(step: name, step) }
      try await open()
    } catch {
      await shutdown()
      throw error
    }
  }

  /// Members that one change of a command stores at most.
  package static var portion: Int { QueueCoordinator.portion }

  /// A manager over other ports.
  package init(
    engine: Engine, store: any Store = MemoryStore(), portion: Int = TransferManager.portion,
    damage: TransferError? = nil, onShutdown: @escaping @Sendable () async -> Void = {}
  ) {
    self.engine = engine
    damageOfList = damage
    self.onShutdown = onShutdown
    coordinator = QueueCoordinator(engine: engine, store: store, portion: portion)
  }

  deinit {
    Task(executorPreference: engine.soleExecutor) { [coordinator, engine, onShutdown] in
      await Self.shutDown(coordinator, engine, onShutdown)
    }
  }

  /// Takes up what the store holds, once, before anything is added.
  /// - Throws: `io`, when the store cannot be read.
  package func open() async throws(TransferError) { try await coordinator.open() }

  /// Stops what runs, closes every connection, and ends every event stream. A second call does
  /// nothing.
  ///
  /// What ran is queued again when its store is opened the next time, and what was paused is
  /// paused. A step that does not pause has its task cancelled after four seconds. What has not
  /// stopped after one more second is left to itself: a step counts as interrupted, a download goes
  /// on from its last checkpoint.
  public func shutdown() async { await Self.shutDown(coordinator, engine, onShutdown) }

  private static func shutDown(
    _ coordinator: QueueCoordinator, _ engine: Engine,
    _ onShutdown: @escaping @Sendable () async -> Void
  ) async {
    guard let hasEnded = await coordinator.shutdown() else { return }
    // Threads that do not come back are not waited for.
    if hasEnded { await onShutdown() } else { Task { await onShutdown() } }
    engine.hub.close()
  }
}

/// Adding.
extension TransferManager {
  /// Adds transfers at the end of the list, in order, all of them or none; each starts when a slot
  /// is free.
  ///
  /// When this returns they are stored. `events()` tells nothing of them before that: one who reads
  /// it on the same actor has the handles first. A request whose `identifier` is in the list
  /// already finds the transfer that has it, as `ifKnown` says.
  /// - Parameters:
  ///   - requests: in the order in which they are to start. Relative paths, and programs without a
  ///     directory, begin in the working directory of this process, also where the next one runs in
  ///     another.
  ///   - ifKnown: what becomes of a transfer whose identifier is in the list already.
  ///   - key: a name of the caller's for this call: the same call again, also after a crash, adds
  ///     nothing and returns the same transfers.
  /// - Throws: `bad-name` for a path with a NUL; `io`, `disk-full` when they could not be stored;
  ///   `in-use` when an identifier belongs to another transfer and is to be refused, or that one is
  ///   being removed; with `.update` as `set`; `dependency-failed` when one comes after something
  ///   unknown, or after itself by way of others; `interrupted` after `shutdown`.
  @discardableResult
  public func add(
    _ requests: [TransferRequest], ifKnown: TransferRequest.IfKnown = .keep, key: String? = nil
  ) async throws(TransferError) -> [Transfer] {
    let added = try await coordinator.add(requests, ifKnown: ifKnown, key: key)
    defer { if let hold = added.hold { engine.hub.release(hold) } }
    return added.all.map(handle)
  }

  /// Adds one transfer; as `add(_:ifKnown:key:)` of several.
  /// - Throws: as `add(_:ifKnown:key:)` of several.
  @discardableResult
  public func add(
    _ request: TransferRequest, ifKnown: TransferRequest.IfKnown = .keep
  ) async throws(TransferError) -> Transfer {
    let added = try await add([request], ifKnown: ifKnown)
    guard let transfer = added.first else { throw TransferError(.internal, "nothing was added") }
    return transfer
  }

  /// Adds downloads with default priority, in no group.
  /// - Throws: as `add(_:ifKnown:key:)`.
  @discardableResult
  public func add(_ downloads: [DownloadRequest]) async throws(TransferError) -> [Transfer] {
    try await add(downloads.map { TransferRequest(.download($0)) })
  }

  /// Adds one download with default priority, in no group.
  /// - Throws: as `add(_:ifKnown:key:)`.
  @discardableResult
  public func add(_ download: DownloadRequest) async throws(TransferError) -> Transfer {
    try await add(TransferRequest(.download(download)))
  }

  /// Changes what a transfer is to do: a new address for an expired link, its priority, what comes
  /// before it, the rules of its next run. One that has ended stays as it is until `retry` or
  /// `restart`.
  ///
  /// Identifier and group stay. Once something has run for it its bytes stay too: they are believed
  /// only if the new address proves to be of the same version, and where they are to go cannot be
  /// changed, nor the address where the name comes from it.
  /// - Parameters:
  ///   - id: one for which nothing runs; pause it first.
  ///   - change: makes the new request from the present one. Dependencies are there by their ids;
  ///     those that were completed and taken off the list are not.
  /// - Throws: `refused`, with the `refusal` `isRunning` or `isUnknown`; `dependency-failed` when
  ///   it would come after something unknown, or after itself by way of others, who are named;
  ///   `bad-name` for a path with a NUL; `internal` when what stays would change; `io`,
  ///   `disk-full`. Nothing has changed then.
  public func set(
    _ id: TransferID, _ change: @Sendable (inout TransferRequest) -> Void
  ) async throws(TransferError) {
    if let refusal = try await coordinator.set(id, change) { throw TransferError(refusal) }
  }

  /// As `set` of one, for each of them by itself, in the order of the list.
  /// - Throws: as `set` of one; those before it have been changed then.
  public func set(
    _ selection: TransferSelection, _ change: @Sendable (inout TransferRequest) -> Void
  ) async throws(TransferError) -> CommandReport {
    var refused: [TransferID: CommandRefusal] = [:]
    for id in await coordinator.ids(of: selection) {
      refused[id] = try await coordinator.set(id, change)
    }
    return CommandReport(refused: refused)
  }

  /// Registers what steps of this name do: before they are added, and after a restart before the
  /// queue is taken up. A step whose name is not registered when it gets a slot fails.
  public func register(step name: String, _ closure: @escaping StepClosure) async {
    await coordinator.register(step: name, closure)
  }
}

/// A command on more than some eight thousand transfers is stored in portions, in the order in
/// which they are given or listed. Nothing new starts before the last one. When a portion cannot be
/// stored the command throws, or when the program dies, those before it have been changed, and the
/// others not. What throws `io` or `disk-full` could not be stored, and of few nothing was changed.
extension TransferManager {
  /// Pauses: the slot is free, and the next transfer starts, when the connections are closed and
  /// the bytes are claimed. Returns then; with strict durability the bytes survive a power cut.
  /// - Throws: `io`, `disk-full`: see above.
  public func pause(
    _ selection: TransferSelection, by initiator: TransferEvent.Initiator = .user
  ) async throws(TransferError) -> CommandReport {
    try await coordinator.command(.pause, selection, by: initiator)
  }

  /// Lets paused transfers go on from their bytes, each when a slot is free. One that is still
  /// stopping goes on after that.
  /// - Throws: `io`, `disk-full`: see above.
  public func resume(
    _ selection: TransferSelection, by initiator: TransferEvent.Initiator = .user
  ) async throws(TransferError) -> CommandReport {
    try await coordinator.command(.resume, selection, by: initiator)
  }

  /// Puts running and paused transfers back to waiting; bytes and places are kept.
  /// - Throws: `io`, `disk-full`: see above.
  public func requeue(
    _ selection: TransferSelection
  ) async throws(TransferError) -> CommandReport {
    try await coordinator.command(.requeue, selection)
  }

  /// Cancels, from every state but completed; returns when nothing runs any more and the part files
  /// are gone. They stay listed.
  /// - Parameters:
  ///   - selection: which of them.
  ///   - keepingBytes: leaves the part files, for `retry` to go on from.
  /// - Throws: `io`, `disk-full`: see above.
  public func cancel(
    _ selection: TransferSelection, keepingBytes: Bool = false
  ) async throws(TransferError) -> CommandReport {
    try await coordinator.command(keepingBytes ? .cancelKeepingBytes : .cancel, selection)
  }

  /// Puts failed and cancelled transfers back to waiting, in their old places; they go on from the
  /// bytes that are there.
  /// - Throws: `io`, `disk-full`: see above.
  public func retry(
    _ selection: TransferSelection
  ) async throws(TransferError) -> CommandReport {
    try await coordinator.command(.retry, selection)
  }

  /// Begins again at byte 0, from every state, in the old places. A completed file stays until the
  /// new one is whole.
  /// - Throws: `io`, `disk-full`: see above.
  public func restart(
    _ selection: TransferSelection
  ) async throws(TransferError) -> CommandReport {
    try await coordinator.command(.restart, selection)
  }

  /// Takes transfers off the list; what has not ended is cancelled first. Finished files stay.
  /// - Throws: `io`, `disk-full`: see above.
  public func remove(
    _ selection: TransferSelection
  ) async throws(TransferError) -> CommandReport {
    try await coordinator.command(.remove, selection)
  }

  /// Has waiting and paused transfers go before all others, within the limits. One that waits for
  /// its next attempt makes it then, also where its host gave no answer; a pause that the server
  /// asked for (`Retry-After`) is kept.
  /// - Parameters:
  ///   - selection: which of them.
  ///   - force: also beyond the limits, and outside of the schedule.
  /// - Throws: `io`, `disk-full`: see above.
  public func start(
    _ selection: TransferSelection, force: Bool = false
  ) async throws(TransferError) -> CommandReport {
    try await coordinator.command(force ? .force : .start, selection)
  }

  /// Moves transfers next to each other, in the order given or listed; running ones too. Order
  /// counts within a priority.
  /// - Throws: `io`, `disk-full`: it could not be stored, and nothing was changed.
  /// - Complexity: O(members of the list) for a place beside another, else O(moved).
  public func move(
    _ selection: TransferSelection, to place: QueuePosition
  ) async throws(TransferError) -> CommandReport {
    try await coordinator.move(selection, to: place)
  }

  /// Gives transfers another share of the slots.
  /// - Throws: `io`, `disk-full`: see above.
  public func setPriority(
    _ priority: TransferRequest.Priority, of selection: TransferSelection
  ) async throws(TransferError) -> CommandReport {
    try await coordinator.setPriority(priority, of: selection)
  }

  /// Pauses everything that has not ended, also when that cannot be stored.
  public func pauseAll(by initiator: TransferEvent.Initiator = .user) async {
    await coordinator.pauseAll(by: initiator)
  }
}

/// Limits, while transfers run. With 0 nothing starts, and nil leaves what is there.
extension TransferManager {
  /// Nothing new starts until `unsuspend`; what runs, runs on.
  public func suspend() async { await coordinator.setSuspended(true) }

  /// Starts again what may.
  public func unsuspend() async { await coordinator.setSuspended(false) }

  /// Changes how many transfers run at once, and how many connections they have. Raising starts
  /// more; lowering stops none: what there is too much of is not begun again when it has ended.
  /// - Parameters:
  ///   - active: transfers in all.
  ///   - activePerHost: transfers of one host; `.max` for no other cap than `active`.
  ///   - connectionsPerHost: connections to one host, all transfers together.
  ///   - connectionsInAll: connections of all transfers together.
  public func setLimits(
    active: Int? = nil, activePerHost: Int? = nil, connectionsPerHost: Int? = nil,
    connectionsInAll: Int? = nil
  ) async {
    await coordinator.setLimits { limits in
      limits.active = active ?? limits.active
      limits.activePerHost = activePerHost ?? limits.activePerHost
      limits.connectionsPerHost = connectionsPerHost ?? limits.connectionsPerHost
      limits.connections = connectionsInAll ?? limits.connections
    }
  }

  /// Changes how many bytes per second all transfers get together, from now on; nil for no limit.
  /// Those who wait for their share go on by the new one.
  public func setRateLimit(_ bytesPerSecond: Int64?) {
    engine.throttle.setRate(bytesPerSecond)
  }

  /// When transfers run; nil for always.
  public var schedule: Schedule? { get async { await coordinator.scheduleMonitor.hours?.schedule } }

  /// Changes when transfers run. Returns when what may start has started, and what may not go on
  /// was told to stop.
  ///
  /// Outside of the schedule nothing starts but what is forced. At the end of a window downloads
  /// that run are stopped: they keep their bytes and their places, and go on by themselves when the
  /// next one opens. No attempt is counted, and what somebody paused stays paused. What would lose
  /// its work runs to its end: steps, and streams. What was forced since the end of the window runs
  /// on.
  /// - Parameter schedule: nil for always. It is not stored: the next manager has that of its
  ///   configuration.
  /// - Throws: `internal` for a time zone that nobody knows, and a window whose minutes are none of
  ///   a day; nothing has changed then.
  public func setSchedule(_ schedule: Schedule?) async throws(TransferError) {
    try await coordinator.setSchedule(schedule)
  }
}

/// What is in the list, and waiting for it.
extension TransferManager {
  /// The handle of that transfer; nil when it is not in the list.
  /// - Throws: `io`.
  public func transfer(_ id: TransferID) async throws(TransferError) -> Transfer? {
    try await handles([id]).first
  }

  /// The handle of the transfer that has this identifier of the caller's; nil when none in the list
  /// has.
  /// - Throws: `io`.
  public func transfer(identifier: String) async throws(TransferError) -> Transfer? {
    guard let id = await coordinator.id(of: identifier) else { return nil }
    return try await transfer(id)
  }

  /// Handles of transfers, in the order of the list.
  /// - Throws: `io`.
  /// - Complexity: O(n log n) in the members of the list; each one's request is read from the
  ///   store.
  public func transfers(
    of selection: TransferSelection = .all
  ) async throws(TransferError) -> [Transfer] {
    try await handles(coordinator.ids(of: selection))
  }

  /// The group of that name; it need not have members yet.
  public func group(_ name: String) -> TransferGroup {
    TransferGroup(name: name, manager: self, queue: coordinator)
  }

  /// Waits until nothing runs and nothing waits for a slot. What is paused, or waits for something
  /// that is not going to be completed, is not waited for, nor is the step that calls this. Returns
  /// at once when the manager is shut down or the task cancelled.
  public func waitUntilEmpty() async {
    await coordinator.waitUntilEmpty()
  }

  /// How many members of the list there are in each state: `running` ones hold a slot. O(members).
  public var counts: [TransferState: Int] { get async { await coordinator.counts } }

  /// How the transfers stand, in the order of the list.
  /// - Complexity: O(n log n) in the members of the list.
  public func summaries(of selection: TransferSelection = .all) async -> [TransferSummary] {
    await coordinator.summaries(of: selection)
  }

  /// A page of the list, in its order: how the transfers behind one stand.
  /// - Parameters:
  ///   - id: the last one of the page before; nil for the first page. Behind one that is not in the
  ///     list there is nothing.
  ///   - count: how many at most.
  ///   - group: of this group only, unless it is nil.
  /// - Throws: `io`.
  /// - Complexity: O(the page), whatever the length of the list; in memory the first page after a
  ///   change of the order sorts the list.
  public func summaries(
    after id: TransferID?, atMost count: Int, of group: String? = nil
  ) async throws(TransferError) -> [TransferSummary] {
    try await coordinator.summaries(after: id, atMost: count, of: group)
  }

  /// The bytes of a transfer to `.stream`, for one reader; they begin to come when the transfer
  /// starts, and wait for the reader when it is slow. Letting go of them before their end cancels
  /// the transfer.
  /// - Throws: `internal` when the transfer is unknown, has another destination, or is being read.
  public func bytes(of transfer: Transfer) async throws(TransferError) -> TransferBytes {
    TransferBytes(try await coordinator.stream(of: transfer.id))
  }

  private func handles(_ ids: [TransferID]) async throws(TransferError) -> [Transfer] {
    try await coordinator.identified(ids).map(handle)
  }

  private func handle(_ identified: Identified) -> Transfer {
    Transfer(
      id: identified.id, identity: identified.identity, manager: self, queue: coordinator)
  }
}

/// What happens.
extension TransferManager {
  /// - Parameter handOver: called with all that has changed since the last call.
  func listFeed(_ handOver: @escaping @Sendable (ListUpdate) async -> Void) -> ListFeed {
    ListFeed(coordinator, handOver)
  }

  /// Every event from now on, each once and in order; ends when the manager has shut down.
  ///
  /// A subscriber that stops reading loses progress and phases first. When it has missed more state
  /// changes than are kept, it gets a `.snapshot` of every transfer in the list in place of them,
  /// and what comes after.
  public func events() -> TransferEvents {
    TransferEvents(source: .everything(EventFeed(of: coordinator, from: .now, tellsEach: true)))
  }

  /// Every state change after the one of that number, then everything as it happens, without gap or
  /// repeat; also across restarts. Ends when the manager has shut down.
  ///
  /// Begins with `.reset`, and how everything stands, where the log of state changes does not reach
  /// back so far, or where the number is of another list. The log keeps 100,000 of them, of a list
  /// in memory 10,000.
  /// - Parameter number: that of the last event that is known; nil, when nothing is, begins with
  ///   `.reset`.
  public func events(after number: Int?) -> QueueEvents {
    let start = number.map { EventFeed.Start.after($0) } ?? .nothing
    return QueueEvents(feed: EventFeed(of: coordinator, from: start))
  }

  /// How many events wait in memory for subscribers that have not read them.
  package var heldEvents: Int { engine.hub.held }

  /// Asks what the server says of a resource; downloads nothing: one byte is asked for, and no body
  /// is read. A passing failure is tried again as the request says.
  /// - Parameters:
  ///   - request: a download of it.
  ///   - retrying: called before the delay of each retry, with the number of the attempt that
  ///     failed.
  /// - Throws: what a download of it would fail with, `interrupted` when the task is cancelled.
  public func probe(
    _ request: DownloadRequest,
    retrying: @Sendable (_ attempt: Int, _ error: TransferError, _ delay: Duration) async -> Void =
      { _, _, _ in }
  ) async throws(TransferError) -> ProbeResult {
    try request.checkPaths()
    return try await Prober(request: request, engine: engine).run(retrying)
  }

  /// Asks what the server says of an address; as `probe(_:retrying:)` of a request with the
  /// defaults.
  /// - Throws: as `probe(_:retrying:)` of a request.
  public func probe(_ url: ResourceURL) async throws(TransferError) -> ProbeResult {
    try await probe(DownloadRequest(url: url, to: .stream))
  }
}
