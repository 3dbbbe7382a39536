import HaulCore

/// Stored changes: each must follow from a command, from a run's end, or from a restart.
extension Ledger {
  mutating func stored(_ change: StoreChange) {
    changes += 1
    for record in change.added { names[record.id] = record.request.name }
    note("stored \(text(change))")
    checkNumbers(change.events)
    for record in change.added { add(record, change.events) }
    // Added members may start or end in the same change.
    noteReady()
    let updated = change.updated + change.added.compactMap(afterAddition)
    // Members may start because of ends in the same change.
    let starts = updated.filter { ModelState($0.storedState) == .running }
    for update in updated where ModelState(update.storedState) != .running {
      apply(update, change.events)
    }
    for id in change.removed { remove(id, change.events) }
    noteReady()
    for update in starts { checkStartedBeforeCalled(update.id, Set(starts.map(\.id))) }
    for update in starts { applyStart(update, change.events) }
    log += change.events
    noteReady()
  }

  private mutating func checkNumbers(_ events: [StoredEvent]) {
    for (index, event) in events.enumerated() where event.number != log.count + index + 1 {
      violate("event \(event.number) was stored as number \(log.count + index + 1)")
    }
  }

  private mutating func add(_ record: TransferRecord, _ events: [StoredEvent]) {
    if members.values.contains(where: { $0.name == record.request.name }) {
      violate("\(record.request.name) was added twice")
    }
    var new = record
    (new.storedState, new.result) = (Self.queued(record.storedState), nil)
    members[record.id] = Member(new)
    history[record.id, default: [(0, .gone)]].append((changes, .queued))
    if events.of(record.id).first != "added" {
      violate("\(name(record.id)) is not reported as added")
    }
    move(record.id, to: .queued, [])
  }

  /// The state in which a member is added.
  private static func queued(_ stored: StoredState) -> StoredState {
    var queued = StoredState()
    (queued.rank, queued.priority) = (stored.rank, stored.priority)
    if stored.startTime != nil { queued.waitReason = stored.waitReason }
    return queued
  }

  /// What happens to a new member in the change that adds it; nil for nothing.
  private func afterAddition(_ record: TransferRecord) -> StoreChange.Update? {
    guard record.storedState != Self.queued(record.storedState) else { return nil }
    return StoreChange.Update(
      id: record.id, storedState: record.storedState, result: record.result,
      keepsRankAndPriority: true)
  }

  private mutating func apply(_ update: StoreChange.Update, _ events: [StoredEvent]) {
    guard let old = members[update.id] else {
      return violate("something was stored of \(name(update.id)), which is not there")
    }
    let to = ModelState(update.storedState)
    if to == .failed, old.state != .queued, isSkip(events.first { $0.id == old.id && $0.isEnd }) {
      return skip(update, events)
    }
    let from = old.state
    let all = events.of(update.id)
    let reported = all.filter { $0 != "added" && $0 != "moved" }
    if all.contains("moved"), moves == 0 {
      violate("\(old.name) is reported as moved, and nobody moved it")
    }
    if old.storedState.rank != update.storedState.rank, moves == 0 {
      violate("\(old.name) has another place, and nobody moved it")
    }
    members[update.id]?.storedState = update.storedState
    let isElsewhere =
      old.storedState.rank != update.storedState.rank
      || old.storedState.priority != update.storedState.priority
    if isElsewhere || from == .queued && to != .queued && to != .running {
      members[update.id]?.waited = false
    }
    if isElsewhere { members[update.id]?.isRearranged = true }
    if from == to { return expect([], reported, update.id) }
    if !isLegal(old, to, events), !hasFoundItsFile(old, to, update) {
      violate("\(old.name) was \(from) and became \(to)")
    }
    if from == .queued, to == .running { checkStart(update.id) }
    expect(Self.reports(from, to), reported, update.id)
    move(update.id, to: to, events)
    if let end = members[update.id]?.end, to.end != end, !to.isUnderWay {
      violate("\(old.name) is \(to), and \(end) was reported for it")
    }
    if to.isEnded, members[update.id]?.end != to.end {
      violate("\(old.name) is \(to), which was not reported")
    }
  }

  /// A member that a change queues may start in the same change. If it ran before and after the
  /// change, this cannot be seen.
  private mutating func applyStart(_ update: StoreChange.Update, _ events: [StoredEvent]) {
    var between = update
    between.storedState.wasRunning = false
    guard let old = members[update.id] else { return apply(update, events) }
    if old.state == .running {
      let mayStop = isLegal(old, .queued, events) || hasFoundItsFile(old, .queued, between)
      if mayStop { members[update.id]?.mayBeginAgain = true }
    } else if old.state != .queued, !isLegal(old, .running, events) {
      apply(between, events)
      return apply(update, events.filter { $0.id != update.id })
    }
    apply(update, events)
  }

  /// Whether it was to start over, and the file of its run before a crash is published.
  private func hasFoundItsFile(
    _ old: Member, _ to: ModelState, _ update: StoreChange.Update
  ) -> Bool {
    old.state == .running && to == .queued && old.storedState.restartsFromZero
      && update.storedState.restartsFromZero
      && update.result?.state == .completed
  }

  /// It is requeued and fails in the same change, because a dependency has failed.
  private mutating func skip(_ update: StoreChange.Update, _ events: [StoredEvent]) {
    guard let end = events.lastIndex(where: { $0.id == update.id && $0.isEnd }) else { return }
    var between = update
    between.storedState.status = .queued
    between.storedState.desired = .run
    apply(between, Array(events[..<end]))
    apply(update, Array(events[end...]))
  }

  private func isSkip(_ event: StoredEvent?) -> Bool {
    guard case .finished(let result) = event?.kind else { return false }
    return result.error?.code == .dependencyFailed
  }

  private mutating func remove(_ id: TransferID, _ events: [StoredEvent]) {
    guard let old = members[id] else { return violate("\(name(id)) was removed twice") }
    if !isLegal(old, .gone, events) { violate("\(old.name) was \(old.state) and was removed") }
    var reported = events.of(id)
    if reported.popLast() != "removed" {
      violate("\(old.name) was taken off the list, which was not reported")
    }
    if old.end == nil {
      if reported.count != 1 || !["completed", "cancelled"].contains(reported[0]) {
        violate("\(old.name) was taken off the list, and what was reported is \(reported)")
      }
    } else if !reported.isEmpty, reported != ["completed"] {
      violate("\(old.name) had ended, was taken off the list, and what was reported is \(reported)")
    }
    if old.end == .completed || reported == ["completed"] { cleared.insert(id) }
    move(id, to: .gone, events)
    members[id] = nil
  }

  private mutating func move(_ id: TransferID, to state: ModelState, _ events: [StoredEvent]) {
    history[id]?.append((changes, state))
    let hasRun = members[id]?.state == .running
    members[id]?.hasWaitReason = causesWaits && hasRun && state == .queued
    members[id]?.state = state
    if state.isEnded { members[id]?.startsAnytime = true }
    if state == .running || state.isEnded { members[id]?.hasBegun = true }
    // A pause withdraws the start, and the time counts again.
    if state == .paused, members[id]?.hasBegun == false { members[id]?.startsAnytime = false }
    for event in events where event.id == id {
      switch event.kind {
      case .resumed:
        members[id]?.end = nil
        // Its dependents have to wait for it again.
        for other in members.values where other.request.dependencies.contains(.transfer(id)) {
          members[other.id]?.waited = false
        }
      case .finished(let result):
        noteEnd(id, result.state)
        members[id]?.path = result.path
      default: break
      }
    }
    if state != .queued { members[id]?.goesFirst = false }
    guard !state.isUnderWay else { return }
    members[id]?.starts = 0
    members[id]?.mayBeginAgain = false
    members[id]?.isRequeueRequested = false
    members[id]?.waited = false
    if state != .queued {
      members[id]?.isForced = false
      members[id]?.isStartRequested = false
    }
    // A command that has not returned may be decided now.
    for order in orders.values { note(order, of: id) }
  }

  private mutating func noteEnd(_ id: TransferID, _ end: TransferResult.State) {
    if let former = members[id]?.end, former != .failed || end != .cancelled {
      violate("\(name(id)) had ended \(former), and \(end) was reported")
    }
    members[id]?.end = end
  }

  private mutating func expect(_ wanted: [String], _ reported: [String], _ id: TransferID) {
    if reported != wanted { violate("\(name(id)): \(reported) was reported in place of \(wanted)") }
  }

  /// The events of a transition.
  private static func reports(_ from: ModelState, _ to: ModelState) -> [String] {
    if let end = to.end { return [end.rawValue] }
    switch (from, to) {
    case (_, .paused): return ["paused"]
    case (.paused, .queued), (.failed, .queued), (.cancelled, .queued), (.completed, .queued):
      return ["resumed"]
    default: return []
    }
  }
}

extension Ledger {
  private func isLegal(_ old: Member, _ to: ModelState, _ events: [StoredEvent]) -> Bool {
    switch (old.state, to) {
    case (.queued, .running): return true
    case (.running, .completed), (.running, .failed): return true
    case (.running, .queued):
      return old.isRequeueRequested || isClosing || causesWaits || hasRefused || schedule != nil
        || orders.values.contains { $0.requestsRequeue(old) }
    case (.stopping(.pause), .paused), (.stopping(.pause), .failed): return true
    case (.stopping(.remove), .gone): return true
    case (.stopping(.cancel), .cancelled), (.stopping(.cancelKeepingBytes), .cancelled):
      return true
    case (.stopping, .completed): return true
    case (.queued, .failed):
      let codes = events.compactMap { event -> TransferError.Code? in
        guard event.id == old.id, case .finished(let result) = event.kind else { return nil }
        return result.error?.code
      }
      // It is skipped, or its start could not be stored.
      if codes == [.dependencyFailed] || codes == [.io] { return true }
      if codes == [.interrupted], isOpening, old.host == nil { return true }
    default: break
    }
    return orders.values.contains { leads(old, to, $0) }
  }

  private func leads(_ old: Member, _ to: ModelState, _ order: Order) -> Bool {
    guard order.covers(old) else { return false }
    return old.state.live.contains { state in
      let outcome = state.outcome(
        order.command, hasRun: old.storedState.hasRun || state == .running)
      if case .becomes(let next) = outcome { return next.stored == to }
      return false
    }
  }

  /// Checks that no member whose start was acknowledged, perhaps before a crash, waits for the
  /// same.
  private mutating func checkStartedBeforeCalled(_ id: TransferID, _ starting: Set<TransferID>) {
    guard let late = members[id], late.state == .queued, !late.isStartRequested, !hasRefused else {
      return
    }
    let isSilent = late.host.map { silentSince[$0] != nil } ?? false
    guard !isSilent else { return }
    for early in listed
    where early.goesFirst && !early.hasWaitReason && !starting.contains(early.id) {
      guard early.host == late.host, isReady(early) == true, early.storedState.retryAt == nil
      else { continue }
      violate("\(late.name) began before \(early.name), whose start was acknowledged")
    }
  }

  /// Checks that it may run, and that no earlier member has waited for the same.
  private mutating func checkStart(_ id: TransferID) {
    guard let late = members[id] else { return }
    if !late.wasReady { violate("\(late.name) started before what it comes after") }
    guard !late.isStartRequested, !late.isRearranged else { return }
    // A command to a running member is stored before the starts of others at that time.
    let isCommanded = orders.values.contains { order in
      [.restart, .requeue].contains(order.command) && order.covers(late)
    }
    // A member that asked a silent host in vain comes after the others of that host.
    let isSilent = late.host.map { silentSince[$0] != nil } ?? false
    guard !isCommanded, !isSilent else { return }
    for early in listed where early.waited && early.state == .queued && early.id != id {
      guard early.host == late.host, early.storedState.priority == late.storedState.priority,
        early.storedState.rank < late.storedState.rank
      else { continue }
      violate("\(late.name) began before \(early.name), which is before it in the list")
    }
  }

  private func text(_ change: StoreChange) -> String {
    let parts =
      change.added.map { "+\($0.request.name)" }
      + change.updated.map { "\(name($0.id))=\(ModelState($0.storedState))" }
      + change.removed.map { "-\(name($0))" }
      + change.events.map { "#\($0.number) \(name($0.id)) \($0.kind.text)" }
    return parts.joined(separator: " ")
  }
}

extension StoredEvent {
  fileprivate var isEnd: Bool { if case .finished = kind { true } else { false } }
}

extension [StoredEvent] {
  /// The events of one member.
  func of(_ id: TransferID) -> [String] { filter { $0.id == id }.map(\.kind.word) }
}

extension TransferEvent.Kind {
  /// The same with the reason of a failure.
  var text: String {
    guard case .finished(let result) = self, let error = result.error else { return word }
    return "\(word): \(error.code.rawValue), \(error.message)"
  }

  /// One word for the log.
  var word: String {
    switch self {
    case .added: "added"
    case .target(let path, _): "target \(path)"
    case .phase(let phase, let reason): "\(phase)" + (reason.map { " (\($0))" } ?? "")
    case .waiting(let reason): "waiting (\(reason.code))"
    case .paused: "paused"
    case .resumed: "resumed"
    case .progress(let progress): "\(progress.bytes) bytes"
    case .attempt(let number, let error, let delay):
      "attempt \(number) after \(delay): \(error.code.rawValue)"
    case .limited(let connections, _): "limited to \(connections)"
    case .connections(let choice): "settled on \(choice.connections)"
    case .finished(let result): result.state.rawValue
    case .moved: "moved"
    case .removed: "removed"
    case .snapshot(let snapshot): "stands \(snapshot.state.rawValue)"
    }
  }
}
