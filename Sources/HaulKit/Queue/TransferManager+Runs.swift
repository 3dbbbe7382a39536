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
        run.context.send(.slotGranted)
      } else if let grant = queue.granted(id) {
        runs[id] = MemberRun(context: newContext(of: id))
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
    let reportsProgress = record.request.reportsProgress
    engine.hub.begins(id, tellsProgress: reportsProgress)
    switch record.request.work {
    case .download(var download):
      if startsOver { download.startOver = true }
      download.replace(record.result)
      if startsOver { places[id] = nil }
      let executor = engine.executor(for: id, of: download.url.origin)
      runs[id]?.url = download.url
      run(
        DownloadDriver(
          request: download, serverName: serverNames[id], former: places[id],
          stream: stream(of: id, download), executor: executor, isStored: store.isDurable,
          reportsProgress: reportsProgress),
        for: id, on: executor)
    case .step(let step):
      run(driver(of: step, id, reportsProgress), for: id, on: engine.soleExecutor)
    }
  }

  private func newContext(of id: TransferID) -> RunContext {
    RunContext(id: id, engine: engine, manager: self)
  }

  private func run(
    _ driver: some TransferDriver, for id: TransferID, on executor: (any TaskExecutor)?
  ) {
    guard let context = runs[id]?.context else { return }
    Task(executorPreference: executor) { [weak self] in
      let end = await driver.run(context)
      await self?.ended(id, end)
    }
  }

  /// Takes away what the runs of one left that nothing runs for.
  func startDiscarding(_ id: TransferID) async {
    guard runs[id] == nil else {
      runs[id]?.context.send(.cancel)
      return
    }
    runs[id] = MemberRun(context: newContext(of: id))
    let record = (try? await store.records([id]))?.first
    guard var download = record?.request.download, !queue.isDisplaced(id) else {
      return run(DiscardDriver(request: nil), for: id, on: engine.soleExecutor)
    }
    download.replace(record?.result)
    runs[id]?.url = download.url
    run(
      DiscardDriver(request: download, serverName: serverNames[id], former: places[id]),
      for: id, on: engine.executor(for: id, of: download.url.origin))
  }

  private func stream(of id: TransferID, _ download: DownloadRequest) -> StreamBuffer? {
    guard download.destination == .stream else { return nil }
    if streams[id] == nil { openStream(id) }
    return streams[id]?.buffer
  }

  /// What a run tells before its end.
  /// - Returns: why it could not be stored, if it was to be.
  func handle(_ report: RunReport, of id: TransferID) async -> TransferError? {
    switch report {
    case .slotLeft(let instant): await leaveSlot(id, until: instant)
    case .slotWanted: await enterSlot(id)
    case .slotsChanged: await startWhatMay()
    case .named(let name): serverNames[id] = name
    case .startedOver: await startedOver(id)
    case .published(let onceStored): runs[id]?.onceStored = onceStored
    case .leaves(let place): places[id] = place
    case .processBegins(let process): return await begins(id, process)
    }
    return nil
  }

  /// Stored, so that what comes from now on is not forgotten once more after a crash.
  private func startedOver(_ id: TransferID) async {
    do {
      try await carryOut { (decision) throws(TransferError) in queue.startedOver(id, &decision) }
    } catch {
      engine.log(error)
    }
  }

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
  func ended(_ id: TransferID, _ end: RunEnd) async {
    engine.hooks.passes(.ended)
    engine.slots.update { _ = $0.paused(id) }
    guard !isLeft(id) else { return }
    let url = runs[id]?.url
    if end.isOver { places[id] = nil }
    endings.append((id, end))
    await storeEndings()
    await startWhatMay()
    if queue.members[id]?.state == .queued { tellWaiting(id, url) }
  }

  private func storeEndings() async {
    guard !endings.isEmpty else { return }
    var taken: [(id: TransferID, end: RunEnd)] = []
    var ended: [MemberRun] = []
    do {
      try await carryOut { (decision) throws(TransferError) in
        (taken, endings) = (endings, [])
        for (id, end) in taken {
          unstored[id] = queue.members[id]?.state == .stopping(.requeue)
          ended.append(
            runs.removeValue(forKey: id) ?? MemberRun(context: newContext(of: id)))
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

  private func note(_ id: TransferID, _ end: RunEnd, _ decision: inout QueueDecision) {
    // What the end of the program stopped is queued again the next time; what somebody paused is paused.
    if end.isInterruption(isShutDown: isShutDown), queue.members[id]?.state == .running {
      _ = queue.handle(.requeue, [id], by: .signal, &decision)
    }
    if case .suspended = end { return queue.held(id, by: .disk, &decision) }
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
