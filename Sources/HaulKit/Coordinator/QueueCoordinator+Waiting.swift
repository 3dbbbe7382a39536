import HaulCore
import HaulFiles
import NIOConcurrencyHelpers

/// Transfers that wait for a time, a disk, a directory or the network.
extension QueueCoordinator {
  /// Handles deadlines that have passed.
  func due(_ keys: [Deadline]) async {
    guard !isShutDown else { return await endRuns(keys) }
    var retries: [TransferID] = []
    for key in keys {
      switch key {
      case .hosts, .schedule, .cutShort, .abandon: continue
      case .waits: await look()
      case .store:
        isStoreRefusing = false
        await goOnAfterEnds()
      case .retry(let id): retries.append(id)
      }
    }
    if !retries.isEmpty { await release(retries) }
    await startWhatMay()
    if keys.contains(.schedule) { emitReopened() }
  }

  /// Requeues transfers whose wait is over.
  private func release(_ ids: [TransferID]) async {
    let isDone = await carryOutAlone { (queue, decision) in
      for id in ids { queue.due(id, &decision) }
    }
    // A skipped transfer ends here, and that is stored.
    guard !isDone else { return }
    let later = engine.clock.now + .seconds(1)
    for id in ids { deadlines.set(.retry(id), to: later) }
  }

  /// Carries out a decision that no caller asked for, and starts nothing with it: usually nothing
  /// has to be stored.
  /// - Returns: whether the store accepted it.
  private func carryOutAlone(
    _ decide: (inout QueueMachine, inout QueueDecision) -> Void
  ) async -> Bool {
    do throws(TransferError) {
      try await turn.run { () async throws(TransferError) in
        try await commit(starting: false) { (queue, decision) throws(TransferError) in
          decide(&queue, &decision)
        }
      }
      return true
    } catch {
      return false
    }
  }

  /// Resumes a transfer when its wait reason is gone. A command may have come since.
  func wait(_ id: TransferID, _ reason: WaitReason, _ identity: TransferIdentity?) {
    guard queue.members[id]?.waiting == reason else { return }
    switch reason {
    case .retry(let time): return postpone(id, until: time)
    case .diskFull, .directoryMissing, .offline:
      _ = waits.handle(.suspended(id, reason), at: engine.clock.now)
      waitsChanged()
    default: return
    }
    emitWaiting(id, reason, identity)
  }

  /// Returns to a transfer when its next attempt is due.
  func postpone(_ id: TransferID, until wallSeconds: Double) {
    emitWaiting(id, .retry(at: wallSeconds), nil)
    let delay = max(wallSeconds - engine.clock.wallSeconds, 0)
    deadlines.set(.retry(id), to: engine.clock.now + .seconds(delay))
  }
}

/// Waits for disk space, a directory or the network.
extension QueueCoordinator {
  /// Checks the wait reasons, and releases the transfers whose reason is gone.
  private func look() async {
    forgetReleased()
    let answers = await answers(to: waits.questions)
    guard !isShutDown else { return }
    forgetReleased()
    let released = waits.handle(.looked(answers), at: engine.clock.now)
    waitsChanged()
    await release(released)
    for id in released where queue.members.state(of: id) == .queued {
      emitWaiting(id, nil)
    }
  }

  /// Commands may have come since.
  private func forgetReleased() {
    for id in Array(waits.ids) where queue.members[id]?.waiting.map({ $0 == .slot }) ?? true {
      _ = waits.handle(.left(id), at: engine.clock.now)
    }
  }

  private func waitsChanged() {
    engine.fullDevices.withLockedValue { $0 = waits.fullDevices }
    deadlines.set(.waits, to: waits.nextLook)
  }

  private func answers(
    to questions: [WaitMonitor.Question]
  ) async -> [WaitMonitor.Question: WaitMonitor.Answer] {
    var answers: [WaitMonitor.Question: WaitMonitor.Answer] = [:]
    for question in questions { answers[question] = await answer(to: question) }
    return answers
  }

  /// Nil when the file threads have been stopped.
  private func answer(to question: WaitMonitor.Question) async -> WaitMonitor.Answer? {
    switch question {
    case .network: .network(isUp: engine.network.isUp)
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

/// Waits for the schedule.
extension QueueCoordinator {
  func setSchedule(_ schedule: Schedule?) async throws(TransferError) {
    var hours: LocalSchedule?
    if let schedule { hours = try LocalSchedule(schedule) }
    scheduleMonitor.set(hours)
    await startWhatMay()
    emitReopened()
  }

  /// Updates whether the schedule allows starts; called before anything starts.
  func lookAtSchedule() {
    guard !isShutDown, scheduleMonitor.isNeeded else { return }
    let wasOpen = scheduleMonitor.isOpen
    scheduleMonitor.look(at: engine.clock.now, wallSeconds: engine.clock.wallSeconds)
    engine.slots.update { $0.closed = scheduleMonitor.closed }
    // Nothing runs or waits for a slot, so no check is needed: the next `add` checks itself.
    deadlines.set(.schedule, to: queue.busy > 0 ? scheduleMonitor.nextLook : nil)
    guard wasOpen, !scheduleMonitor.isOpen else { return }
    stopForSchedule(runs.running)
  }

  /// Stops the transfers that lose nothing by it: a step would begin again, and a stream cannot
  /// resume.
  func stopForSchedule(_ ids: [TransferID]) {
    outOfTime += ids.filter {
      queue.members[$0]?.facts.isStep == false && runs.stream(of: $0) == nil
    }
    stoppedBySchedule.formUnion(outOfTime)
  }

  /// Stops what the schedule no longer allows.
  func keepToSchedule() async {
    lookAtSchedule()
    guard !outOfTime.isEmpty else { return }
    let ids = outOfTime
    outOfTime = []
    // Nothing of it is stored, so no store can refuse it.
    _ = await carryOutAlone { (queue, decision) in
      // The window may have opened meanwhile.
      if !scheduleMonitor.isOpen { queue.suspend(ids, &decision) }
    }
  }

  /// Emits the new wait reason of transfers that were stopped and have no slot yet.
  private func emitReopened() {
    guard scheduleMonitor.isOpen, !stoppedBySchedule.isEmpty else { return }
    for id in stoppedBySchedule.sorted() where queue.members.state(of: id) == .queued {
      emitWaiting(id, nil)
    }
    stoppedBySchedule = []
  }
}

/// Wait reasons.
extension QueueCoordinator {
  func emitWaiting(_ id: TransferID, _ reason: WaitReason, _ identity: TransferIdentity?) {
    engine.hub.emit(.waiting(reason), of: id, identity)
  }

  /// Emits why it has no slot, if it waits for one.
  func emitWaiting(_ id: TransferID, _ identity: TransferIdentity?) {
    emitWaiting([Identified(id: id, identity: identity)])
  }

  /// The same for many, at one moment.
  func emitWaiting(_ members: [Identified]) {
    let now = (engine.clock.now, engine.clock.wallSeconds)
    for member in members {
      if let reason = slotReason(of: member.id, at: now) {
        emitWaiting(member.id, reason, member.identity)
      }
    }
  }

  /// Why it has no slot; nil when it does not wait for one, or is about to get it.
  private func slotReason(
    of id: TransferID, at now: (instant: Instant, wallSeconds: Double)
  ) -> WaitReason? {
    engine.slots.update { $0.reason(for: id, at: now.instant, wallSeconds: now.wallSeconds) }
  }

  /// The state of a member, with its wait reason.
  /// - Parameter known: results of earlier calls; for many members, all calls together are O(n).
  func summary(
    _ member: QueueMachine.Member, _ known: inout [TransferID: TransferID?]
  ) -> TransferSummary {
    guard member.state == .queued || member.state == .running else {
      return TransferSummary(member, waitReason: nil)
    }
    var reason = queue.waitReason(of: member, at: engine.clock.wallSeconds, &known)
    // A running transfer may wait for another slot.
    if reason == nil || reason == .slot {
      reason = slotReason(of: member.facts.id, at: (engine.clock.now, engine.clock.wallSeconds))
    }
    return TransferSummary(member, state(of: member), waitReason: reason)
  }
}
