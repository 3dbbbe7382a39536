import HaulCore
import HaulFiles
import Logging
import NIOConcurrencyHelpers

/// Transfers that wait for a time, a disk, a directory, the network or credentials.
extension QueueCoordinator {
  /// Handles deadlines that have passed.
  func due(_ keys: [Deadline]) async {
    guard !isShutDown else { return await endRuns(keys) }
    await replan(
      keys.compactMap { key in
        guard case .retry(let id) = key, queue.members[id]?.storedState.startTime != nil else {
          return nil
        }
        return id
      })
    var retries: [TransferID] = []
    for key in keys {
      switch key {
      case .hosts, .schedule, .forceStop, .abandon: continue
      case .waits: await checkWaits()
      case .aborts:
        Task(executorPreference: engine.soleExecutor) { [weak self] in await self?.abortAgain() }
      case .store:
        isStoreRefusing = false
        await storeEndsAndStart()
      case .retry(let id): if waitsForTime(id), !waitsForStart(id) { retries.append(id) }
      }
    }
    let starting = retries.filter { queue.members[$0]?.storedState.startTime != nil }
    if !retries.isEmpty { await release(retries) }
    await startReady()
    for id in starting where queue.members.state(of: id) == .queued { emitWaiting(id, nil) }
    emitWaitsAfterSchedule()
  }

  /// Requeues transfers whose wait is over.
  private func release(_ ids: [TransferID]) async {
    let isDone = await performDecisionWithoutStarting { (queue, decision) in
      for id in ids { queue.waitEnded(id, &decision) }
    }
    // The store can refuse this: a transfer that is skipped ends here.
    guard !isDone else { return }
    let later = engine.clock.now + .seconds(1)
    for id in ids { deadlines.set(.retry(id), to: later) }
  }

  /// Carries out a decision that no caller requested, and starts nothing. Usually nothing has to be
  /// stored.
  /// - Returns: whether the store accepted it.
  @discardableResult
  func performDecisionWithoutStarting(
    _ decide: (inout QueueMachine, inout QueueDecision) -> Void
  ) async -> Bool {
    do throws(TransferError) {
      try await mutex.run { () async throws(TransferError) in
        try await commit(starting: false) { (queue, decision) throws(TransferError) in
          decide(&queue, &decision)
        }
      }
      return true
    } catch {
      return false
    }
  }

  /// Resumes a transfer when its wait reason is gone, unless a command has changed it meanwhile.
  func wait(_ id: TransferID, _ reason: WaitReason, _ identity: TransferIdentity?) {
    guard queue.members[id]?.waiting == reason else { return }
    switch reason {
    case .retry(let time): return postpone(id, until: time)
    case .diskFull, .directoryMissing, .offline, .credentialsRefused:
      _ = waitMonitor.handle(.suspended(id, reason), at: engine.clock.now)
      waitsChanged()
    default: return
    }
    emitWaiting(id, reason, identity)
  }

  /// Whether a timer of it counts: a command may have ended that wait, and another may have begun.
  private func waitsForTime(_ id: TransferID) -> Bool {
    guard let member = queue.members[id], member.state == .queued else { return false }
    return switch member.waiting {
    case .retry, .startTime: true
    default: false
    }
  }

  /// Whether its start time has not come yet; sets the timer then.
  private func waitsForStart(_ id: TransferID) -> Bool {
    guard let time = queue.members[id]?.storedState.startTime,
      let next = StartTime.nextCheck(
        of: time, at: engine.clock.now, wallSeconds: engine.clock.wallSeconds)
    else { return false }
    deadlines.set(.retry(id), to: next)
    return true
  }

  /// Sets the timer for the start time or the next attempt of a transfer.
  func postpone(_ id: TransferID, until wallSeconds: Double) {
    if queue.members[id]?.storedState.startTime != nil {
      if !waitsForStart(id) { deadlines.set(.retry(id), to: engine.clock.now) }
      return
    }
    emitWaiting(id, .retry(at: wallSeconds), nil)
    let delay = max(wallSeconds - engine.clock.wallSeconds, 0)
    deadlines.set(.retry(id), to: engine.clock.now + .seconds(delay))
  }
}

/// Waits for disk space, a directory or the network.
extension QueueCoordinator {
  /// Checks the wait reasons, and releases the transfers whose reason is gone.
  private func checkWaits() async {
    forgetReleased()
    let results = await results(of: waitMonitor.checks)
    guard !isShutDown else { return }
    forgetReleased()
    let released = waitMonitor.handle(.checked(results), at: engine.clock.now)
    waitsChanged()
    await release(released)
    for id in released where queue.members.state(of: id) == .queued {
      emitWaiting(id, nil)
    }
    for wait in waitMonitor.longWaits(at: engine.clock.now) {
      emitWaiting(wait.id, wait.reason, nil)
    }
  }

  /// Reads the tokens of those that wait for other credentials now, not after up to 5 s.
  package func checkCredentials() async {
    guard !isShutDown, waitMonitor.checks.contains(.credentials) else { return }
    await due([.waits])
  }

  /// Forgets transfers that a command has released meanwhile.
  private func forgetReleased() {
    for id in Array(waitMonitor.ids) where queue.members[id]?.waiting.map({ $0 == .slot }) ?? true {
      _ = waitMonitor.handle(.left(id), at: engine.clock.now)
    }
  }

  private func waitsChanged() {
    engine.fullDevices.withLockedValue { $0 = waitMonitor.fullDevices }
    deadlines.set(.waits, to: waitMonitor.nextCheck)
  }

  private func results(
    of checks: [WaitMonitor.Check]
  ) async -> [WaitMonitor.Check: WaitMonitor.CheckResult] {
    var results: [WaitMonitor.Check: WaitMonitor.CheckResult] = [:]
    for check in checks { results[check] = await result(of: check) }
    return results
  }

  /// Nil when the file threads have been stopped.
  private func result(of check: WaitMonitor.Check) async -> WaitMonitor.CheckResult? {
    switch check {
    case .network: .network(isUp: engine.network.isUp)
    case .credentials:
      .credentials(free: await engine.freeCredentials(of: Array(waitMonitor.ids)))
    case .directory(let path):
      try? await engine.io.run { [disk = engine.disk] in
        DirectoryLookup.find(path, on: disk).map { .directory(device: $0.device) } ?? .missing
      }
    case .room(let device, let path):
      try? await engine.io.run { [disk = engine.disk] in
        guard let found = DirectoryLookup.find(path, on: disk), found.device == device else {
          return .missing
        }
        return .room(free: (try? found.directory.availableBytes()) ?? nil)
      }
    }
  }
}

/// Waits for other credentials.
extension QueueCoordinator {
  /// Requeues the transfers that failed before their credential was known to be dead: they wait for
  /// another one with those that were not tried.
  func requeueRefused() async {
    // For one that still runs, this is called again after its end.
    let refused = engine.transfersWithRefusedCredentials.filter { !runs.isRunning($0) }
    guard !refused.isEmpty, !isShutDown else { return }
    let failed = refused.filter { queue.members.state(of: $0) == .failed }
    let isDone = await performDecisionWithoutStarting { (queue, decision) in
      _ = queue.handle(.retry, failed, by: .network, &decision)
    }
    if isDone { engine.forgetRefusals(of: refused) }
  }
}

/// Waits for the schedule.
extension QueueCoordinator {
  func setSchedule(_ schedule: Schedule?) async throws(TransferError) {
    var localSchedule: LocalSchedule?
    if let schedule { localSchedule = try LocalSchedule(schedule) }
    scheduleMonitor.set(localSchedule)
    engine.schedule.withLockedValue { $0 = schedule }
    await startReady()
    emitWaitsAfterSchedule()
  }

  /// Updates whether the schedule allows starts; called before anything starts.
  func updateSchedule() {
    guard !isShutDown, scheduleMonitor.isNeeded else { return }
    let (wasOpen, lastRate) = (scheduleMonitor.isOpen, scheduleMonitor.rateLimit)
    scheduleMonitor.check(at: engine.clock.now, wallSeconds: engine.clock.wallSeconds)
    let rate = scheduleMonitor.rateLimit
    if rate != lastRate { engine.throttle.setWindowRate(rate) }
    engine.scheduler.update { $0.closedReason = scheduleMonitor.closedReason }
    // No timer is needed when nothing runs or waits for a slot: the next `add` checks the schedule.
    deadlines.set(.schedule, to: queue.outstandingCount > 0 ? scheduleMonitor.nextCheck : nil)
    let changes = wasOpen != scheduleMonitor.isOpen
    if changes || rate != lastRate {
      engine.note(.schedule(isOpen: scheduleMonitor.isOpen, scheduleMonitor.note))
    }
    guard changes else { return }
    hasScheduleChanged = true
    guard scheduleMonitor.isOpen else { return stopForSchedule(runs.running) }
    // A decision that starts nothing may have noticed the open window.
    if queue.outstandingCount > 0 { deadlines.set(.hosts, to: engine.clock.now) }
  }

  /// Stops the transfers that can resume: not steps, which would begin again, and not streams.
  func stopForSchedule(_ ids: [TransferID]) {
    stoppingForSchedule += ids.filter {
      queue.members[$0]?.storesStart == false && runs.stream(of: $0) == nil
    }
  }

  /// Stops what the schedule no longer allows.
  func enforceSchedule() async {
    updateSchedule()
    guard !stoppingForSchedule.isEmpty else { return }
    let ids = stoppingForSchedule
    stoppingForSchedule = []
    // A suspension is not stored, so the store cannot refuse it.
    _ = await performDecisionWithoutStarting { (queue, decision) in
      // The window may have opened meanwhile.
      if !scheduleMonitor.isOpen { queue.suspend(ids, &decision) }
    }
  }

  private func emitWaitsAfterSchedule() {
    guard hasScheduleChanged else { return }
    hasScheduleChanged = false
    emitSlotWaits()
  }
}

/// Wait reasons.
extension QueueCoordinator {
  func emitWaiting(_ id: TransferID, _ reason: WaitReason, _ identity: TransferIdentity?) {
    engine.hub.emit(.waiting(reason), of: id, identity)
  }

  /// Emits why it has no slot, if it waits for one.
  func emitWaiting(_ id: TransferID, _ identity: TransferIdentity?) {
    emitWaiting([IdentifiedTransfer(id: id, identity: identity)])
  }

  /// The same for many, at one moment.
  func emitWaiting(_ members: [IdentifiedTransfer]) {
    let now = (engine.clock.now, engine.clock.wallSeconds)
    for member in members {
      if let reason = slotReason(of: member.id, at: now) {
        emitWaiting(member.id, reason, member.identity)
      }
    }
  }

  /// Emits why each queued transfer has no slot, after what holds the whole list has changed.
  /// - Complexity: O(members of the list)
  package func emitSlotWaits() {
    let waiting = queue.members.values.lazy.filter {
      $0.state == .queued && ($0.waiting ?? .slot) == .slot
    }
    emitWaiting(waiting.map { IdentifiedTransfer(id: $0.id, identity: nil) })
  }

  /// Why it has no slot; nil when it does not wait for one, or is about to get it.
  private func slotReason(
    of id: TransferID, at now: (instant: Instant, wallSeconds: Double)
  ) -> WaitReason? {
    engine.scheduler.update { $0.reason(for: id, at: now.instant, wallSeconds: now.wallSeconds) }
  }

  /// The state of a member, with its wait reason.
  /// - Parameter known: results of earlier calls; for many members, all calls together are O(n).
  func summary(
    _ member: QueuedMember, _ known: inout [TransferID: TransferID?]
  ) -> TransferSummary {
    let state = state(of: member)
    let isEnding = state == .stopping || runs.run(of: member.id)?.end != nil
    if isStoreRefusing, isEnding {
      return TransferSummary(member, state, waitReason: .listNotStored)
    }
    guard state == .queued else { return TransferSummary(member, state, waitReason: nil) }
    var reason = queue.waitReason(of: member, at: engine.clock.wallSeconds, &known)
    let (id, now) = (member.id, (engine.clock.now, engine.clock.wallSeconds))
    // A running transfer may wait for another slot.
    if reason == nil || reason == .slot { reason = slotReason(of: id, at: now) }
    // It has a slot, or would get one.
    if reason == nil, isStoreRefusing { reason = .listNotStored }
    if reason == nil, let retryAt = runs.run(of: id)?.retryAt {
      reason = .retry(at: now.1 + max(.zero, retryAt - now.0) / .seconds(1))
    }
    reason = reason.map(waitMonitor.updated)
    // A start would not end this wait.
    if let time = reason?.attemptTime,
      let pause = engine.scheduler.update({ $0.hostPause(for: id, at: now.0, wallSeconds: now.1) })
    {
      reason = .hostBackOff(until: max(pause, time))
    }
    return TransferSummary(member, state, waitReason: reason)
  }

  /// The failure because of which it waits for another attempt, or for a connection.
  func waitCause(of summary: TransferSummary) -> TransferError? {
    switch summary.waitReason {
    case .retry, .hostBackOff, .hostOutage: engine.hub.lastFailure(summary.id)
    case .hostRefusal: engine.scheduler.update { $0.refusal(for: summary.id) }
    default: nil
    }
  }
}

extension WaitReason {
  /// When the next attempt is due; nil if it waits for something else.
  fileprivate var attemptTime: Double? {
    switch self {
    case .retry(let time), .hostBackOff(let time): time
    default: nil
    }
  }
}

/// Cancelled uploads whose stores could not be asked to delete their parts, which cost money. The
/// stores are asked again, less and less often, also after the list is opened again.
extension QueueCoordinator {
  private static let firstAbortDelay: Duration = .seconds(60)
  private static let longestAbortDelay: Duration = .seconds(3600)
  /// About a day.
  private static let maximumAbortAttempts = 30

  /// - Parameter delay: until the next attempt.
  func abortLater(_ aborts: [PendingAbort], after delay: Duration = firstAbortDelay) {
    guard !aborts.isEmpty else { return }
    let ids = Set(aborts.map(\.id))
    pendingAborts.removeAll { ids.contains($0.id) }
    pendingAborts += aborts
    abortAttempts = 0
    deadlines.set(.aborts, to: engine.clock.now + delay)
  }

  /// Asks every store once.
  func abortAgain() async {
    abortAttempts += 1
    let isLast = abortAttempts >= Self.maximumAbortAttempts
    var ended: Set<TransferID> = []
    for abort in pendingAborts {
      guard !isShutDown else { return }
      // One that was retried continues with its parts, or deletes them.
      if runs.isRunning(abort.id) {
        ended.insert(abort.id)
      } else if await abort.request.cleanUp(after: abort.id, engine) {
        ended.insert(abort.id)
      } else if isLast {
        engine.log(
          TransferError(
            .httpStatus,
            "\(abort.id): the store still has parts of \(abort.request.url.redacted), and does not "
              + "delete them",
            advice: "delete its unfinished uploads there"))
        ended.insert(abort.id)
      }
    }
    pendingAborts.removeAll { ended.contains($0.id) }
    if !ended.isEmpty {
      // If the store of the list refuses this, they are tried once more when it is opened again.
      await performDecisionWithoutStarting { (_, decision) in
        decision.endedAborts = ended.sorted()
      }
    }
    guard !pendingAborts.isEmpty else { return }
    let delay = Self.firstAbortDelay * (1 << min(abortAttempts, 6))
    deadlines.set(.aborts, to: engine.clock.now + min(delay, Self.longestAbortDelay))
  }
}
