import HaulCore
import HaulFiles
import NIOConcurrencyHelpers

/// Starts transfers that have a slot.
extension QueueCoordinator {
  /// Starts what the scheduler allows, and sets the timer for the end of a host's pause. All of it
  /// has started when this returns.
  func startReady() async {
    if hasSchedule { await enforceSchedule() }
    guard !isShutDown, !isStoreRefusing else { return }
    let now = engine.clock.now
    while !queue.toRecheck.isEmpty || isPickingOrMayPick(at: now), !isShutDown, !isStoreRefusing {
      await mutex.run {
        guard !isStoreRefusing else { return }
        do throws(TransferError) {
          try await commit { (queue, decision) throws(TransferError) in queue.recheck(&decision) }
        } catch {
          storeLater()
        }
      }
    }
    if hasSchedule { await enforceSchedule() }
    deadlines.set(.hosts, to: engine.scheduler.update { $0.nextWakeUp() })
  }

  private var hasSchedule: Bool { scheduleMonitor.isNeeded || !stoppingForSchedule.isEmpty }

  private func isPickingOrMayPick(at now: Instant) -> Bool {
    !pendingStarts.isEmpty || engine.scheduler.update { $0.mayStart(at: now) }
  }

  /// Lets a decision start what has a slot; nil if nothing may start.
  func startPermission() -> StartPermission? {
    guard !isShutDown else { return nil }
    updateSchedule()
    if arePendingStartsWithinSchedule, !scheduleMonitor.isOpen { releasePendingStarts() }
    return StartPermission(
      scheduler: engine.scheduler, now: engine.clock.now, isWithinSchedule: scheduleMonitor.isOpen,
      pendingStarts: pendingStarts, isDurable: store.isDurable)
  }

  /// Takes note of what a decision starts, before it is stored.
  func note(_ starts: QueueStarts) {
    pendingStarts = starts.granted.map(\.id)
    resume(starts.resumed)
  }

  /// Lets runs that have a slot again continue.
  func resume(_ ids: [TransferID]) {
    for id in ids {
      if runs.isWaitingForSlot(id) {
        runs.send(.slotGranted, to: id)
      } else {
        engine.scheduler.update { _ = $0.release(id) }
      }
    }
  }

  /// Releases slots whose starts the store refused and whose schedule window has closed since.
  private func releasePendingStarts() {
    for id in pendingStarts {
      engine.scheduler.update { _ = $0.release(id) }
      addToScheduler(id)
    }
    pendingStarts = []
  }

  func releasePendingStarts(_ id: TransferID) {
    // Usually there are none.
    if !pendingStarts.isEmpty { pendingStarts.removeAll { $0 == id } }
  }

  /// The decision was not stored: releases the slots of what it scheduled.
  func releaseStarts(of decision: QueueDecision) {
    guard let starts = decision.starts else { return }
    if !starts.granted.isEmpty { arePendingStartsWithinSchedule = starts.isWithinSchedule }
    guard !starts.scheduled.isEmpty else { return }
    let scheduled = Set(starts.scheduled)
    pendingStarts.removeAll { scheduled.contains($0) }
    engine.scheduler.update { scheduler in
      for id in starts.scheduled { scheduler.release(id) }
      for record in decision.added { scheduler.finished(record.id) }
    }
  }

  /// Registers its run once its start is stored: it receives commands from now on.
  func beginRun(of id: TransferID) {
    releasePendingStarts(id)
    runs[id].run = RunSupervisor.Run(
      context: RunContext(id: id, engine: engine, coordinator: self))
  }

  /// Creates the driver of each.
  func launch(
    _ granted: [(id: TransferID, grant: TransferMachine.Grant)], _ decision: QueueDecision
  ) async {
    // In the order of the ids, without removed ones.
    var stored: ArraySlice<TransferRecord> = []
    let unknown = granted.map(\.id).filter { decision.added($0) == nil }
    do throws(TransferError) {
      if !unknown.isEmpty { stored = try await store.records(unknown)[...] }
    } catch {
      engine.log(error)
      // One of them may be damaged: read each alone, so that the others do not wait for it.
      for id in unknown where unknown.count > 1 {
        if let record = (try? await store.records([id]))?.first { stored.append(record) }
      }
    }
    for (id, grant) in granted {
      if let record = decision.added(id) ?? (stored.first?.id == id ? stored.popFirst() : nil) {
        launch(record, grant)
      } else {
        run(UnreadDriver(), for: id, on: engine.soleExecutor)
      }
    }
  }

  private func launch(_ record: TransferRecord, _ grant: TransferMachine.Grant) {
    engine.hooks.reached(.began)
    let id = record.id
    engine.hub.runBegan(id, reportsProgress: record.request.reportsProgress)
    let identity = TransferIdentity(record.request)
    note(record.request.repetition, of: id)
    runs[id].identity = identity
    runs.run(of: id)?.context.identity = identity
    switch record.request.work {
    case .download(var download):
      if grant.restartsFromZero { download.startOver = true }
      // A restarted stream is read from the beginning.
      if download.destination == .stream, runs.stream(of: id)?.hasEnded ?? true {
        openStream(of: id)
      }
      let known = runs[id]
      // A file that is brought up to date is looked for, and not replaced without a question.
      let isUpdate = record.request.repetition != nil && !grant.restartsFromZero
      if let rate = download.rateLimit { known.run?.context.limitRate(to: rate) }
      let executor = engine.executor(for: id, of: download.url.origin)
      run(
        DownloadDriver(
          request: download, serverName: known.serverName,
          previous: PreviousRun(
            location: known.location, path: isUpdate ? nil : record.result?.path),
          needsPreviousBytes: !grant.restartsFromZero && record.result?.state != .failed,
          stream: known.stream, executor: executor, isStored: store.isDurable),
        for: id, on: executor)
    case .upload(let upload):
      if let rate = upload.rateLimit { runs.run(of: id)?.context.limitRate(to: rate) }
      let executor = engine.executor(for: id, of: upload.url.origin)
      run(
        UploadDriver(
          request: upload, hasRun: grant.hasRun, startsOver: grant.restartsFromZero,
          executor: executor),
        for: id, on: executor)
    case .step(let step):
      run(driver(of: step, id), for: id, on: engine.soleExecutor)
    }
  }

  private func driver(of step: StepRequest, _ id: TransferID) -> any TransferDriver {
    switch step.action {
    case .program(let arguments, let directory):
      guard let programs = engine.programs else { break }
      runs.run(of: id)?.cannotPause = !step.isIdempotent
      return ProgramDriver(
        ProgramCommand(id: id, arguments: arguments, directory: directory), engine, programs,
        isIdempotent: step.isIdempotent)
    case .named(let name, let input):
      guard let closure = engine.steps.withLockedValue({ $0[name] }) else { break }
      return StepDriver(closure: closure, input: input)
    }
    return MissingStepDriver(step: step)
  }

  /// Deletes what earlier runs left of a transfer that is not running.
  func discard(_ id: TransferID) {
    guard !runs.isRunning(id) else { return runs.send(.cancel, to: id) }
    beginRun(of: id)
    let isDisplaced = queue.isDisplaced(id)
    let (serverName, location) = (runs[id].serverName, runs[id].location)
    Task(executorPreference: engine.soleExecutor) { [weak self, store, engine] in
      let record = (try? await store.records([id]))?.first
      if let upload = record?.request.upload {
        await self?.run(UploadCleanupDriver(request: upload), for: id, on: engine.soleExecutor)
        return
      }
      var download = record?.request.download
      if isDisplaced { download = nil }
      await self?.run(
        CleanupDriver(
          request: download, serverName: serverName,
          previous: PreviousRun(location: location, path: record?.result?.path)),
        for: id,
        on: download.flatMap { engine.executor(for: id, of: $0.url.origin) }
          ?? engine.soleExecutor)
    }
  }

  private func run(
    _ driver: some TransferDriver, for id: TransferID, on executor: (any TaskExecutor)?
  ) {
    guard let context = runs.run(of: id)?.context else { return }
    Task(executorPreference: executor) { [weak self] in
      let end = await driver.run(context)
      await self?.ended(id, end, on: executor)
    }
  }

  func openStream(of id: TransferID) {
    runs[id].stream = StreamBuffer(size: engine.streamWindow, io: engine.io)
    runs[id].isStreamRead = false
  }
}

/// The driver of a transfer whose request could not be read; it is retried a second later.
struct UnreadDriver: TransferDriver {
  func run(_ context: RunContext) async -> RunEnd {
    .suspended(.retry(at: context.engine.clock.wallSeconds + 1))
  }
}

/// Handles the reports of runs and their ends.
extension QueueCoordinator {
  private static let storeRetryDelay: Duration = .seconds(1)

  /// Handles a report that a run sends before its end.
  /// - Returns: the error, if it had to be stored and could not be.
  func handle(_ report: RunReport, of id: TransferID) async -> TransferError? {
    switch report {
    case .slotReleased(let instant):
      engine.scheduler.update { _ = $0.release(id) }
      runs.run(of: id)?.retryAt = instant
      await startReady()
      if let instant { return await storeWait(of: id, until: instant) { .retry(at: $0) } }
    case .slotRequested:
      runs.run(of: id)?.retryAt = nil
      addToScheduler(id)
      await startReady()
      emitWaiting(id, runs.identity(of: id))
    case .slotsChanged: await startReady()
    case .hostPaused(let instant):
      await startReady()
      // One says it for all that wait for that host: they may be very many.
      let next = engine.scheduler.update { $0.firstQueued(atHostOf: id) }
      if let next, next != id { emitWaiting(next, nil) }
      return await storeWait(of: id, until: instant) { .hostBackOff(until: $0) }
    case .named(let name): runs[id].serverName = name
    // Stored, so that a crash does not discard the bytes received from now on.
    case .startedOver:
      return await stored { (queue, decision) in queue.startedOver(id, &decision) }
    case .published(let afterStored): runs[id].run?.afterStored = afterStored
    case .bytesLocated(let location): runs[id].location = location
    case .uploadLeft(let request): runs.run(of: id)?.uploadLeft = request
    case .processPrepared(let process):
      return await stored { (_, decision) in
        decision.programs = [StoredProcess(id: id, process: process)]
      }
    }
    return nil
  }

  /// If this cannot be stored, the download continues; after a restart it is attempted at once.
  private func storeWait(
    of id: TransferID, until instant: Instant, _ reason: (Double) -> WaitReason
  ) async -> TransferError? {
    let delay = instant - engine.clock.now
    guard delay > .zero else { return nil }
    let wall = engine.clock.wallSeconds
    let reason = reason(wall + delay / .seconds(1))
    return await stored { (queue, decision) in
      queue.noteWait(of: id, reason, at: wall, &decision)
    }
  }

  /// - Returns: the error, if it could not be stored.
  private func stored(
    _ decide: (inout QueueMachine, inout QueueDecision) -> Void
  ) async -> TransferError? {
    do throws(TransferError) {
      try await performDecision { (queue, decision) throws(TransferError) in
        decide(&queue, &decision)
      }
      return nil
    } catch {
      return error
    }
  }

  /// Frees the slot of a run that has ended. Ends that arrive together, or while others are being
  /// stored, are stored together.
  func ended(_ id: TransferID, _ end: RunEnd, on executor: (any TaskExecutor)?) async {
    engine.hooks.reached(.ended)
    engine.scheduler.update { _ = $0.release(id) }
    guard runs.ended(id, end) else { return forgetRun(of: id) }
    // After shutdown there may be little time left.
    guard !isShutDown else { return await storeEndsAndStart() }
    guard !willStoreEnds else { return }
    willStoreEnds = true
    // Runs after the other runs that are about to end on this thread, and stores their ends too.
    Task(executorPreference: executor) { [weak self] in await self?.storeEndsAndStart() }
  }

  /// Stores the ends of runs, and starts what may run next.
  func storeEndsAndStart() async {
    let ended = await storeEnds()
    await requeueRefused()
    await startReady()
    emitWaiting(
      ended.filter { queue.members.state(of: $0.id) == .queued && !runs.isRunning($0.id) })
  }

  /// - Returns: the transfers whose ends were stored.
  @discardableResult
  func storeEnds() async -> [IdentifiedTransfer] {
    await mutex.run {
      willStoreEnds = false
      let ids = runs.ended
      // The store may have refused other ends while this waited for the mutex.
      guard !ids.isEmpty, !isStoreRefusing || isShutDown else { return [] }
      // Their records may be gone once the change is stored.
      let ends = ids.map { IdentifiedTransfer(id: $0, identity: runs.identity(of: $0)) }
      let suspensions = ends.compactMap { end in
        runs.run(of: end.id)?.end?.suspension.map { (end.id, $0, end.identity) }
      }
      let aborts = ids.compactMap { id in
        runs.run(of: id)?.uploadLeft.map { PendingAbort(id: id, request: $0) }
      }
      do throws(TransferError) {
        try await commit(starting: !isStoreRefusing, ends: ids) {
          (queue, decision) throws(TransferError) in
          for id in ids { decide(id, &queue, &decision) }
          decision.pendingAborts = aborts
        }
        abortLater(aborts)
        for (id, reason, identity) in suspensions { wait(id, reason, identity) }
        return ends
      } catch {
        if isShutDown { for id in ids { forgetRun(of: id) } } else { storeLater() }
        return []
      }
    }
  }

  private func decide(
    _ id: TransferID, _ queue: inout QueueMachine, _ decision: inout QueueDecision
  ) {
    guard let run = runs.run(of: id), let end = run.end else { return }
    switch end {
    case .finished(let result):
      queue.ended(
        id, result.state.runEnd, result, by: .disk, repeatingAt: nextRun(of: id), &decision)
    // A transfer that shutdown stopped waits for a slot when the list is opened again; one that a
    // user paused stays paused.
    case .paused where isShutDown: queue.suspended(id, .slot, &decision)
    case .paused: queue.ended(id, .paused, nil, by: .disk, &decision)
    case .suspended(let reason):
      queue.suspended(id, run.isStartedAgain ? .slot : reason, &decision)
    case .alreadyPublished(let result): queue.alreadyPublished(id, result, &decision)
    }
    if runs.storesLocation(of: id) {
      decision.locations.append(StoredLocation(id: id, location: runs[id].location))
    }
  }

  /// Nothing starts until the store has been tried again.
  func storeLater() {
    isStoreRefusing = true
    deadlines.set(.store, to: engine.clock.now + Self.storeRetryDelay)
  }

  /// Ignores the end of its run.
  func forgetRun(of id: TransferID) {
    guard runs.isRunning(id) else { return }
    runs.forget(id)
    waiters.stopped.resume(id, ())
  }

  /// Deletes the files that were kept until the ends were stored.
  func removeKeptJournals(_ removals: [@Sendable () -> Void]) async {
    // If the threads are stopped, the next opening deletes these files.
    try? await engine.io.run { for remove in removals { remove() } }
  }
}

extension RunEnd {
  /// Why it was suspended, unless it waits for a slot.
  var suspension: WaitReason? {
    if case .suspended(let reason) = self, reason != .slot { reason } else { nil }
  }
}

extension TransferResult.State {
  fileprivate var runEnd: TransferMachine.RunEndKind {
    switch self {
    case .completed: .completed
    case .failed: .failed
    case .cancelled: .cancelled
    }
  }
}
