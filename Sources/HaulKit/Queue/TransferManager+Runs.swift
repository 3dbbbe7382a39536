import HaulCore

/// Starting what may run, and noting its end.
extension TransferManager {
  /// Starts what the scheduler lets start, and comes back when a host's pause ends.
  func startWhatMay() async {
    await keepToTimetable()
    // While the store takes nothing, nothing that starts could be stored either.
    guard !isShutDown, !holdsStarts, storingAgain == nil else { return }
    let now = engine.clock.now
    let (ids, next) = engine.slots.update { ($0.next(at: now), $0.nextWakeUp()) }
    await start(ids)
    guard !isShutDown, let next, wakeUp.map({ next < $0.instant || $0.instant <= now }) ?? true
    else { return }
    wakeUp?.task.cancel()
    let clock = engine.clock
    let task = Task(executorPreference: engine.soleExecutor) { [weak self] in
      guard (try? await clock.sleep(until: next)) != nil else { return }
      await self?.startWhatMay()
    }
    wakeUp = (next, task)
  }

  private func start(_ ids: [TransferID]) async {
    var grants: [(id: TransferID, grant: TransferMachine.Grant)] = []
    var isSlotLeft = false
    for id in ids {
      if let run = runs[id] {
        run.orders.send(.slotGranted)
      } else if let grant = queue.granted(id) {
        runs[id] = MemberRun()
        grants.append((id, grant))
      } else {
        engine.slots.update { _ = $0.paused(id) }
        isSlotLeft = true
      }
    }
    await begin(grants)
    // One that was not to start any more leaves its slot to the next.
    if isSlotLeft { await startWhatMay() }
  }

  private func begin(_ grants: [(id: TransferID, grant: TransferMachine.Grant)]) async {
    guard !grants.isEmpty else { return }
    do {
      try await carryOut { (decision) throws(TransferError) in
        for (id, _) in grants { queue.began(id, &decision) }
      }
      let records = try await store.records(grants.map(\.id))
      for (record, grant) in zip(records, grants) {
        begin(record, startsOver: grant.grant.startsOver)
      }
    } catch {
      engine.log(error)
      for (id, _) in grants { await ended(id, .notBegun) }
    }
  }

  private func begin(_ record: TransferRecord, startsOver: Bool) {
    engine.hooks.passes(.began)
    let id = record.id
    runs[id]?.tellsProgress = record.request.reportsProgress
    engine.hub.begins(id, tellsProgress: record.request.reportsProgress)
    switch record.request.work {
    case .download(var download):
      if startsOver { download.startOver = true }
      download.replace(record.result)
      if startsOver { places[id] = nil }
      run(id, download) { await $0.runUnlessHeld() }
    case .step(let step): run(id, step)
    }
  }

  /// Takes away what the runs of one left that nothing runs for.
  func startDiscarding(_ id: TransferID) async {
    guard runs[id] == nil else {
      runs[id]?.orders.send(.cancel)
      return
    }
    runs[id] = MemberRun()
    let record = (try? await store.records([id]))?.first
    guard var download = record?.request.download, !queue.isDisplaced(id) else {
      // Not at once: its order is being carried out.
      Task(executorPreference: engine.soleExecutor) {
        await self.ended(id, .finished(TransferResult(state: .cancelled)))
      }
      return
    }
    download.replace(record?.result)
    run(id, download) { driver in
      await driver.discard()
      return .finished(TransferResult(state: .cancelled))
    }
  }

  private func run(
    _ id: TransferID, _ download: DownloadRequest,
    _ work: @escaping @Sendable (DownloadDriver) async -> MemberRun.End
  ) {
    guard let orders = runs[id]?.orders else { return }
    runs[id]?.url = download.url
    let executor = engine.executor(for: id, of: download.url.origin)
    let facts = DownloadDriver.Facts(
      id: id, request: download, engine: engine,
      slot: .init(
        leave: { [weak self] in await self?.leaveSlot(id, until: $0) },
        enter: { [weak self] in await self?.enterSlot(id) },
        changed: { [weak self] in await self?.startWhatMay() }),
      stream: stream(of: id, download), executor: executor,
      tellsProgress: runs[id]?.tellsProgress ?? true,
      named: { [weak self] in await self?.named(id, $0) },
      startedOver: { [weak self] in await self?.startedOver(id) },
      published: tellPublished(id), former: places[id], place: runs[id]?.place ?? PlaceNote())
    let driver = DownloadDriver(facts: facts, orders: orders, serverName: serverNames[id])
    Task(executorPreference: executor) { [weak self, prepares = engine.prepare != nil] in
      let end =
        prepares ? await OwnTransfer.$id.withValue(id) { await work(driver) } : await work(driver)
      await self?.ended(id, end)
    }
  }

  private func stream(of id: TransferID, _ download: DownloadRequest) -> StreamBuffer? {
    guard download.destination == .stream else { return nil }
    if streams[id] == nil { openStream(id) }
    return streams[id]?.buffer
  }

  private func tellPublished(_ id: TransferID) -> DownloadDriver.Facts.Published? {
    guard store.isDurable else { return nil }
    return { [weak self] onceStored in await self?.published(id, onceStored) }
  }

  private func published(_ id: TransferID, _ onceStored: @escaping @Sendable () -> Void) {
    runs[id]?.onceStored = onceStored
  }

  /// Stored, so that what comes from now on is not forgotten once more after a crash.
  private func startedOver(_ id: TransferID) async {
    do {
      try await carryOut { (decision) throws(TransferError) in queue.startedOver(id, &decision) }
    } catch {
      engine.log(error)
    }
  }

  private func named(_ id: TransferID, _ name: FileName) { serverNames[id] = name }

  private func leaveSlot(_ id: TransferID, until instant: Instant?) async {
    engine.slots.update { _ = $0.paused(id) }
    await startWhatMay()
    if let instant { await storeRetry(of: id, at: instant) }
  }

  private func enterSlot(_ id: TransferID) async {
    queue.triesAgain(id)
    schedule(id)
    await startWhatMay()
    tellWaiting(id, runs[id]?.url)
  }

  /// The one place where a run's slot is freed. Ends that come while others are being stored are stored together.
  func ended(_ id: TransferID, _ end: MemberRun.End) async {
    engine.hooks.passes(.ended)
    engine.slots.update { _ = $0.paused(id) }
    guard !isLeft(id) else { return }
    let url = runs[id]?.url
    notePlace(of: id, end)
    endings.append((id, end))
    await storeEndings()
    await startWhatMay()
    if queue.members[id]?.state == .queued { tellWaiting(id, url) }
  }

  private func storeEndings() async {
    guard !endings.isEmpty else { return }
    var taken: [(id: TransferID, end: MemberRun.End)] = []
    var ended: [MemberRun] = []
    do {
      try await carryOut { (decision) throws(TransferError) in
        (taken, endings) = (endings, [])
        for (id, end) in taken {
          unstored[id] = queue.members[id]?.state == .stopping(.requeue)
          ended.append(runs.removeValue(forKey: id) ?? MemberRun())
          note(id, end, &decision)
          storePlace(of: id, &decision)
        }
      } onceStored: {
        for (id, _) in taken { noteStoredPlace(of: id) }
        await tidy(ended)
      }
      for (id, _) in taken { waits.stopped.resume(id, ()) }
      unstored = [:]
      hold(zip(taken, ended))
    } catch {
      unstored = [:]
      // It holds a place among the runs until it is stored.
      for ((id, _), run) in zip(taken, ended) { runs[id] = run }
      endings = taken + endings
      if isShutDown { letGo() } else { retryEndings() }
    }
  }

  /// Of ends that nobody will store.
  private func letGo() {
    let left = endings.map(\.id)
    endings = []
    for id in left {
      runs[id] = nil
      waits.stopped.resume(id, ())
    }
  }

  private func note(_ id: TransferID, _ end: MemberRun.End, _ decision: inout QueueDecision) {
    // What the end of the program stopped is queued again the next time; what somebody paused is paused.
    if end.isInterruption(isShutDown: isShutDown), queue.members[id]?.state == .running {
      _ = queue.handle(.requeue, [id], by: .signal, &decision)
    }
    if case .held = end { return queue.held(id, by: .disk, &decision) }
    if case .foundPublished(let result) = end {
      return queue.foundPublished(id, result, by: .disk, &decision)
    }
    queue.ended(id, end.forMachine, end.result, by: .disk, &decision)
    // The reader holds its stream from now on; one that comes late still finds it.
    if case .finished = end, streams[id]?.isRead == true { streams[id] = nil }
  }

  private static let storeAgainAfter: Duration = .seconds(1)

  private func retryEndings() {
    guard storingAgain == nil else { return }
    let clock = engine.clock
    storingAgain = Task(executorPreference: engine.soleExecutor) { [weak self] in
      try? await clock.sleep(until: clock.now + Self.storeAgainAfter)
      await self?.storeAgain()
    }
  }

  private func storeAgain() async {
    storingAgain = nil
    await storeEndings()
    await startWhatMay()
  }

  func tellWaiting(_ id: TransferID, _ url: ResourceURL?) {
    let now = engine.clock.now
    guard let reason = engine.slots.update({ $0.reason(for: id, at: now) }) else { return }
    engine.hub.publish(.phase(.waiting, reason: reason.words(at: now)), of: id, url)
  }
}

extension DownloadRequest {
  /// A file that an earlier run completed is ours: it is replaced when the new one is whole.
  fileprivate mutating func replace(_ result: TransferResult?) {
    guard let path = result?.path else { return }
    destination = .file(path)
    ifExists = .overwrite
  }
}

extension Scheduler.WaitReason {
  /// For a person.
  func words(at now: Instant) -> String {
    switch self {
    case .slot: "every slot is taken"
    case .suspended: "the queue is suspended"
    case .closed(let words): words
    case .hostLimit: "the host has as many transfers as it may have"
    case .hostBackOff(let until):
      "the host asked to be left alone for \((until - now).components.seconds) s more"
    case .hostOutage(let until?):
      "the host gives no answer; it is asked again in \((until - now).components.seconds + 1) s"
    case .hostOutage(nil): "the host gives no answer; another transfer asks it"
    }
  }
}
