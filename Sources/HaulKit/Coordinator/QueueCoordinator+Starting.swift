import HaulCore

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
      if let rate = download.rateLimit { known.run?.context.limitRate(to: rate) }
      let executor = engine.executor(for: id, of: download.url.origin)
      run(
        DownloadDriver(
          request: download, serverName: known.serverName,
          previous: PreviousRun(location: known.location, path: record.result?.path),
          needsPreviousBytes: !grant.restartsFromZero && record.result?.state != .failed,
          stream: known.stream, executor: executor, isStored: store.isDurable),
        for: id, on: executor)
    case .upload(let upload):
      if let rate = upload.rateLimit { runs.run(of: id)?.context.limitRate(to: rate) }
      run(
        UploadDriver(
          request: upload, hasRun: grant.hasRun, startsOver: grant.restartsFromZero),
        for: id, on: engine.soleExecutor)
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
      guard let closure = steps[name] else { break }
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
