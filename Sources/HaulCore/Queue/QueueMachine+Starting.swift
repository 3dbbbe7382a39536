/// The scheduler, which runs use at the same time.
package protocol SharedScheduler: Sendable {
  func update<Result>(_ body: (inout Scheduler) -> Result) -> Result
}

/// Lets a decision start what has a slot.
package struct StartPermission: Sendable {
  let scheduler: any SharedScheduler
  let now: Instant
  let isWithinSchedule: Bool
  let pendingStarts: [TransferID]
  let isDurable: Bool

  /// - Parameters:
  ///   - isWithinSchedule: whether the schedule is open.
  ///   - pendingStarts: transfers that have a slot, and whose starts the store refused.
  ///   - isDurable: whether the store outlives the process.
  package init(
    scheduler: any SharedScheduler, now: Instant, isWithinSchedule: Bool,
    pendingStarts: [TransferID],
    isDurable: Bool
  ) {
    (self.scheduler, self.now, self.isWithinSchedule) = (scheduler, now, isWithinSchedule)
    (self.pendingStarts, self.isDurable) = (pendingStarts, isDurable)
  }
}

/// What a decision starts.
package struct QueueStarts: Sendable {
  package internal(set) var granted: [(id: TransferID, grant: TransferMachine.Grant)] = []
  /// Runs that requested a slot again and have it now.
  package internal(set) var resumed: [TransferID] = []
  /// Passed to the scheduler before the decision is stored.
  package internal(set) var scheduled: [TransferID] = []
  /// Whether the schedule allowed them to start.
  package let isWithinSchedule: Bool
}

extension QueueMachine {
  /// Takes the free slots and starts their transfers. Transfers that the decision itself schedules
  /// are included, so their starts are stored with it.
  mutating func start(_ permission: StartPermission, _ decision: inout QueueDecision) {
    // If the order changes, the scheduler must see that first.
    guard !decision.effects.contains(where: \.changesOrder) else { return }
    var starts = QueueStarts(isWithinSchedule: permission.isWithinSchedule)
    let scheduler = permission.scheduler
    if scheduler.update({ $0.hasFreeSlot }) {
      let ready = decision.effects.compactMap(scheduledMember)
      scheduler.update { scheduler in for member in ready { scheduler.add(member) } }
      starts.scheduled = ready.map(\.id)
    }
    var pendingStarts = permission.pendingStarts
    for id in scheduler.update({ $0.next(at: permission.now) }) {
      if members.state(of: id)?.isLive == true {
        starts.resumed.append(id)
      } else {
        pendingStarts.append(id)
      }
    }
    for id in pendingStarts {
      if let grant = granted(id, isDurable: permission.isDurable, &decision) {
        starts.granted.append((id, grant))
      } else {
        scheduler.update { _ = $0.release(id) }
      }
    }
    decision.starts = starts
  }

  private func scheduledMember(_ effect: QueueDecision.Effect) -> QueuedMember? {
    guard case .enqueue(let id) = effect, let member = members[id], member.isScheduled else {
      return nil
    }
    return member
  }
}

extension Scheduler {
  package mutating func add(_ member: QueuedMember) {
    add(
      member.id, host: member.host, priority: member.storedState.priority,
      rank: member.storedState.rank)
    if let request = member.storedState.startRequest { continueStart(member.id, request) }
  }
}

extension TransferMachine.State {
  /// Whether it has a run.
  fileprivate var isLive: Bool {
    switch self {
    case .running, .stopping: true
    case .queued, .paused, .failed, .completed, .cancelled, .removed: false
    }
  }
}

extension QueueDecision.Effect {
  /// Whether the scheduler may choose other transfers after this effect.
  fileprivate var changesOrder: Bool {
    switch self {
    case .unschedule, .rearrange, .requestStart: true
    case .enqueue, .postpone, .limitRate, .changeRepetition, .stop, .discard, .waits, .ended,
      .groupEnded, .removed:
      false
    }
  }
}
