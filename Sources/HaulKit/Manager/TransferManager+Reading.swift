public import HaulCore

extension TransferManager {
  /// The handle of a transfer; nil when it is not in the list.
  /// - Throws: `io`.
  public func transfer(_ id: TransferID) async throws(TransferError) -> Transfer? {
    try await handles([id]).first
  }

  /// The handle of the transfer with this identifier; nil when the list has none.
  /// - Throws: `io`.
  public func transfer(identifier: String) async throws(TransferError) -> Transfer? {
    guard let id = await coordinator.id(of: identifier) else { return nil }
    return try await transfer(id)
  }

  /// The handles of transfers, in the order of the list.
  /// - Throws: `io`.
  /// - Complexity: O(n log n) in the members of the list; reads each request from the store.
  public func transfers(
    of selection: TransferSelection = .all
  ) async throws(TransferError) -> [Transfer] {
    try await handles(coordinator.ids(of: selection))
  }

  /// The group of that name, also before it has members.
  public func group(_ name: String) -> TransferGroup { TransferGroup(name: name, manager: self) }

  /// Waits until no transfer runs or will start by itself, the manager is shut down, or the task is
  /// cancelled. Paused and blocked transfers, and the step that calls it, do not count.
  public func waitUntilEmpty() async { await coordinator.waitUntilEmpty() }

  /// Runs `body` once, when `waitUntilEmpty` would return. It runs off the main actor, unless the
  /// closure is isolated to it.
  ///
  /// It does not run if the manager shuts down first, or the returned task is cancelled.
  @discardableResult
  public func onEmpty(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Task { [self] in
      await waitUntilEmpty()
      guard !Task.isCancelled, await !coordinator.isShutDown else { return }
      await body()
    }
  }

  /// The number of transfers in each state; `running` ones hold a slot.
  /// - Complexity: O(members of the list).
  public var counts: [TransferState: Int] { get async { await coordinator.counts } }

  /// The state of transfers, in the order of the list.
  /// - Complexity: O(n log n) in the members of the list.
  public func summaries(of selection: TransferSelection = .all) async -> [TransferSummary] {
    await coordinator.summaries(of: selection)
  }

  /// One page of the list, in its order.
  /// - Parameters:
  ///   - id: the last transfer of the page before; nil for the first page. The page after an
  ///     unknown one is empty.
  ///   - count: the maximum number of transfers in the page.
  ///   - group: nil for the whole list.
  /// - Throws: `io`.
  /// - Complexity: O(count); a list in memory is sorted for the first page after a change of order.
  public func summaries(
    after id: TransferID?, atMost count: Int, of group: String? = nil
  ) async throws(TransferError) -> [TransferSummary] {
    try await coordinator.summaries(after: id, atMost: count, of: group)
  }

  /// What a list shows of transfers now, in its order: name, address without secrets, state,
  /// progress, error. For one page of a long list, select the ids of a page of summaries.
  /// - Throws: `io`.
  /// - Complexity: O(n log n) in the members of the list, for ids O(their number); reads each
  ///   request from the store.
  public func rows(
    of selection: TransferSelection = .all
  ) async throws(TransferError) -> [TransferList.Row] {
    try await coordinator.views(of: coordinator.ids(of: selection)).map(\.row)
  }

  /// See `Transfer.bytes`.
  package func bytes(of transfer: Transfer) async throws(TransferError) -> TransferBytes {
    TransferBytes(try await coordinator.stream(of: transfer.id))
  }

  /// Every event from this call on, once and in order, also for a subscriber that reads late; ends
  /// when the manager has shut down.
  ///
  /// A subscriber that does not read loses progress and phases first. When it has missed more state
  /// changes than are kept, it gets a `.snapshot` of every transfer in their place.
  public func events() -> TransferEvents {
    TransferEvents(source: .everything(feed()))
  }

  /// Every state change after a number, then everything as it happens, without gap or repetition,
  /// also across restarts and for late readers; ends when the manager has shut down.
  ///
  /// Begins with `.reset`, the state at this call, if the log no longer has the change after that
  /// number, or the number is from another list. The log keeps 100,000 changes, 10,000 in memory.
  /// - Parameter number: of the last event that you have; nil begins with `.reset`.
  public func events(after number: Int?) -> QueueEvents {
    let start = number.map { EventFeed.Start.after($0) } ?? .nothing
    return QueueEvents(feed: EventFeed(of: coordinator, from: start))
  }

  /// Asks the server about a resource: it requests one byte, reads no body, and retries as the
  /// request says.
  /// - Parameters:
  ///   - request: a download of the resource.
  ///   - retrying: called before the delay of each retry, with the number of the failed attempt.
  /// - Throws: as a download of it would fail; `interrupted` when the task is cancelled.
  public func probe(
    _ request: DownloadRequest,
    retrying: @Sendable (_ attempt: Int, _ error: TransferError, _ delay: Duration) async -> Void =
      { _, _, _ in }
  ) async throws(TransferError) -> ProbeResult {
    try request.checkPaths()
    let request = coordinator.engine.configuration.completed(request)
    return try await Prober(request: request, engine: coordinator.engine).run(retrying)
  }

  /// Asks the server about an address, with the default values of a request.
  /// - Throws: as `probe(_:retrying:)`; `bad-url`, `unsupported-scheme`.
  public func probe(_ url: some ResourceAddress) async throws(TransferError) -> ProbeResult {
    try await probe(DownloadRequest(url: try url.checked(), to: .stream))
  }

  func feed() -> EventFeed {
    EventFeed(of: coordinator, from: .now, deliversResetsAsSnapshots: true)
  }

  private func handles(_ ids: [TransferID]) async throws(TransferError) -> [Transfer] {
    try await coordinator.identified(ids).map(handle)
  }

  func handle(_ identified: IdentifiedTransfer) -> Transfer {
    Transfer(id: identified.id, identity: identified.identity, manager: self)
  }
}
