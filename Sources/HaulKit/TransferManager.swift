public import HaulCore
import HaulFiles
import HaulHTTP
import NIOPosix
import OrderedCollections

/// Runs transfers: the one mutable thing of the library.
///
/// Each command is carried out before it returns, or, where a transfer's I/O must stop first, when that has happened.
public actor TransferManager {
  let engine: Engine
  private let store: any Store
  private let onShutdown: @Sendable () async -> Void
  private var members: OrderedDictionary<TransferID, Member> = [:]
  private var wakeUp: (instant: Instant, task: Task<Void, Never>)?
  private var isShutDown = false

  /// A transfer and what runs for it.
  private struct Member {
    var record: TransferRecord
    var run: Run?
    /// Who is told when its run has stopped.
    var waiters: [CheckedContinuation<Void, Never>] = []
    var pausedBy: TransferEvent.Origin?
    var stream: StreamBuffer?
    /// Whether its reader was given the bytes.
    var isRead = false
    /// The name that the server told, where it is the one to use.
    var serverName: FileName?
  }

  private struct Run {
    let orders: OrderRelay
    let task: Task<Void, Never>
  }

  /// A manager whose records live in memory.
  /// - Throws: `tls` when a file of certificates or keys cannot be read or holds none.
  public init(_ configuration: Configuration = Configuration()) throws(TransferError) {
    var settings = HTTPTransport.Settings()
    settings.connectTimeout = configuration.connectTimeout
    settings.headTimeout = configuration.idleTimeout
    settings.certificateAuthorities = configuration.certificateAuthorities
    settings.clientCertificate = configuration.clientCertificate
    settings.minimumTLS = configuration.minimumTLS
    settings.proxies = configuration.proxies
    settings.addressFamily = configuration.addressFamily
    settings.localAddress = configuration.localAddress
    settings.addresses = configuration.addresses
    settings.userAgent = configuration.userAgent
    let transport = try HTTPTransport(settings)
    let pool = NIOThreadPool(numberOfThreads: Self.fileThreads)
    pool.start()
    let clock = SystemClock()
    engine = Engine(
      transport: transport, disk: POSIXDisk(), io: BlockingIO(pool: pool, clock: clock),
      clock: clock, configuration: configuration, executors: LoopExecutor.all)
    store = MemoryStore()
    onShutdown = {
      await transport.shutdown()
      // Fails only when it was stopped before.
      try? await pool.shutdownGracefully()
    }
  }

  /// A manager over other ports.
  package init(engine: Engine, store: any Store = MemoryStore()) {
    self.engine = engine
    self.store = store
    onShutdown = {}
  }

  private static let fileThreads = 4

  /// Every event from now on, each once and in order; ends when the manager has shut down.
  public nonisolated func events() -> TransferEvents { TransferEvents(hub: engine.hub) }

  /// Adds transfers, in order, all of them or none; each starts when a slot is free.
  /// - Throws: `io` when they could not be stored, `interrupted` after `shutdown`.
  @discardableResult
  public func add(_ requests: [TransferRequest]) async throws(TransferError) -> [Transfer] {
    guard !isShutDown else { throw TransferError(.interrupted, "the manager was shut down") }
    let records = requests.map { request in
      TransferRecord(
        id: engine.random.withGenerator { TransferID(using: &$0) }, request: request)
    }
    try await store.insert(records)
    // It may have come while they were being stored.
    guard !isShutDown else { throw TransferError(.interrupted, "the manager was shut down") }
    for record in records {
      members[record.id] = Member(record: record, stream: stream(for: record.request))
      tell(.added(target: record.request.target), of: record)
      engine.slots.update { $0.add(record.id, host: record.request.url.origin.host) }
    }
    startWhatMay()
    for record in records { tellWaiting(record) }
    return records.map { Transfer(id: $0.id, url: $0.request.url) }
  }

  /// Adds one transfer; as `add(_:)` of several.
  /// - Throws: `io`, `interrupted`.
  @discardableResult
  public func add(_ request: TransferRequest) async throws(TransferError) -> Transfer {
    let added = try await add([request])
    guard let transfer = added.first else { throw TransferError(.internal, "nothing was added") }
    return transfer
  }

  /// The bytes of a transfer to `.stream`, for one reader; they begin to come when the transfer starts, and wait for
  /// the reader when it is slow. Letting go of them before their end cancels the transfer.
  /// - Throws: `internal` when the transfer is unknown, has another destination, or is being read.
  public func bytes(of transfer: Transfer) throws(TransferError) -> TransferBytes {
    guard let member = members[transfer.id], let stream = member.stream else {
      throw TransferError(.internal, "that transfer has no stream to read")
    }
    guard !member.isRead else { throw TransferError(.internal, "the stream has a reader") }
    members[transfer.id]?.isRead = true
    return TransferBytes(stream)
  }

  private func stream(for request: TransferRequest) -> StreamBuffer? {
    guard request.destination == .stream else { return nil }
    return StreamBuffer(size: engine.streamWindow, io: engine.io)
  }

  /// Pauses everything that has not ended. Returns when its I/O has stopped and its bytes are claimed;
  /// with strict durability they survive a power cut then.
  public func pauseAll(by origin: TransferEvent.Origin = .user) async {
    for id in members.keys { order(.pause, id, by: origin) }
    for id in members.keys { await stopped(id) }
  }

  /// Cancels a transfer that has not ended: its part file is removed. Returns when its I/O has stopped.
  public func cancel(_ id: TransferID) async {
    order(.cancel, id, by: .user)
    await stopped(id)
  }

  /// Pauses what runs, closes every connection, and ends every event stream. A second call does nothing.
  public func shutdown() async {
    guard !isShutDown else { return }
    isShutDown = true
    await pauseAll()
    wakeUp?.task.cancel()
    await onShutdown()
    engine.hub.close()
  }
}

extension TransferManager {
  /// Starts what the scheduler lets start, and comes back when a host's pause ends.
  private func startWhatMay() {
    let now = engine.clock.now
    let (ids, next) = engine.slots.update { ($0.next(at: now), $0.nextWakeUp()) }
    for id in ids { start(id) }
    guard let next, wakeUp.map({ next < $0.instant || $0.instant <= now }) ?? true else { return }
    wakeUp?.task.cancel()
    let clock = engine.clock
    let task = Task { [weak self] in
      guard (try? await clock.sleep(until: next)) != nil else { return }
      await self?.startWhatMay()
    }
    wakeUp = (next, task)
  }

  private func start(_ id: TransferID) {
    guard let member = members[id] else { return }
    if let run = member.run {
      run.orders.send(.slotGranted)
      return
    }
    run(id, member) { await $0.run() }
  }

  /// A paused one that is cancelled: its run has ended, its part file is taken away by another.
  private func discard(_ id: TransferID) {
    guard let member = members[id] else { return }
    run(id, member) { driver in
      await driver.discard()
      return .finished(TransferResult(state: .cancelled))
    }
  }

  private func run(
    _ id: TransferID, _ member: Member,
    _ work: @escaping @Sendable (DownloadDriver) async -> DownloadDriver.End
  ) {
    let orders = OrderRelay()
    let executor = engine.executor(for: id, of: member.record.request.url.origin)
    let facts = DownloadDriver.Facts(
      id: id, request: member.record.request, engine: engine,
      slot: .init(
        leave: { [weak self] in await self?.leaveSlot(id) },
        enter: { [weak self] in await self?.enterSlot(id) },
        changed: { [weak self] in await self?.startWhatMay() }),
      stream: member.stream, executor: executor,
      named: { [weak self] in await self?.named(id, $0) })
    let driver = DownloadDriver(facts: facts, orders: orders, serverName: member.serverName)
    let task = Task(executorPreference: executor) { [weak self] in
      let end = await work(driver)
      await self?.ended(id, end)
    }
    members[id]?.run = Run(orders: orders, task: task)
  }

  private func named(_ id: TransferID, _ name: FileName) { members[id]?.serverName = name }

  private func leaveSlot(_ id: TransferID) {
    engine.slots.update { _ = $0.paused(id) }
    startWhatMay()
  }

  private func enterSlot(_ id: TransferID) {
    guard let member = members[id] else { return }
    engine.slots.update { $0.add(id, host: member.record.request.url.origin.host) }
    startWhatMay()
    tellWaiting(member.record)
  }

  /// The one place where a run's slot is freed and its end told.
  private func ended(_ id: TransferID, _ end: DownloadDriver.End) async {
    guard var member = members[id] else { return }
    engine.slots.update { _ = $0.finished(id) }
    switch end {
    case .paused:
      member.record.status = .paused
      tell(.paused(by: member.pausedBy ?? .user), of: member.record)
    case .finished(let result):
      member.record.status = result.state.status
      member.record.result = result
      tell(.finished(result), of: member.record)
      // Its reader holds it from now on; one that comes late still finds it.
      if member.isRead { member.stream = nil }
    }
    let waiters = member.waiters
    member.run = nil
    member.waiters = []
    members[id] = member
    await save(member.record)
    for waiter in waiters { waiter.resume() }
    startWhatMay()
  }

  private func order(
    _ order: DownloadDriver.Order, _ id: TransferID, by origin: TransferEvent.Origin
  ) {
    guard var member = members[id] else { return }
    if member.record.status == .paused, member.run == nil, order == .cancel { return discard(id) }
    guard member.record.status == .queued else { return }
    member.pausedBy = origin
    members[id] = member
    if let run = member.run {
      run.orders.send(order)
      return
    }
    engine.slots.update { _ = $0.finished(id) }
    let error = TransferError(.interrupted, "it was stopped before it began")
    member.stream?.finish(.failure(error))
    let isCancel = order == .cancel
    member.record.status = isCancel ? .cancelled : .paused
    members[id] = member
    tell(
      isCancel ? .finished(TransferResult(state: .cancelled)) : .paused(by: origin),
      of: member.record)
  }

  private func stopped(_ id: TransferID) async {
    guard members[id]?.run != nil else { return }
    await withCheckedContinuation { members[id]?.waiters.append($0) }
  }

  private func save(_ record: TransferRecord) async {
    do {
      try await store.update(record)
    } catch {
      engine.log(error)
    }
  }

  private func tell(_ kind: TransferEvent.Kind, of record: TransferRecord) {
    engine.hub.publish(kind, of: record.id, record.request.url)
  }

  private func tellWaiting(_ record: TransferRecord) {
    let now = engine.clock.now
    guard let reason = engine.slots.update({ $0.reason(for: record.id, at: now) }) else { return }
    tell(.phase(.waiting, reason: reason.words(at: now)), of: record)
  }
}

extension Scheduler.WaitReason {
  fileprivate func words(at now: Instant) -> String {
    switch self {
    case .slot: "every slot is taken"
    case .hostLimit: "the host has as many transfers as it may have"
    case .hostBackOff(let until):
      "the host asked to be left alone for \((until - now).components.seconds) s more"
    case .suspended: "the queue is suspended"
    }
  }
}

extension TransferResult.State {
  fileprivate var status: TransferStatus {
    switch self {
    case .completed: .completed
    case .failed: .failed
    case .cancelled: .cancelled
    }
  }
}

extension TransferRequest {
  /// Where the file is to go; a number may be added when the name turns out to be taken.
  fileprivate var target: String? {
    switch destination {
    case .stream: nil
    case .file(let path): path
    case .directory(let path): path.filePath(FileName(url).text)
    }
  }
}

/// A small handle of one transfer.
public struct Transfer: Sendable, Hashable, Identifiable {
  /// Opaque; unique for ever.
  public let id: TransferID
  /// What it transfers.
  public let url: ResourceURL
}
