import HaulCore

/// Reads the list. Reads see what is stored, and do not wait for the mutex.
extension QueueCoordinator {
  var counts: [TransferState: Int] {
    queue.members.values.reduce(into: [:]) { $0[state(of: $1), default: 0] += 1 }
  }

  /// Its state; a run without a slot counts as queued.
  func state(of member: QueuedMember) -> TransferState {
    // A run whose end is about to be stored still counts as running.
    guard member.state == .running, runs.isWaitingForSlot(member.id) else {
      return TransferState(member)
    }
    return engine.scheduler.update { scheduler in
      if scheduler.isActive(member.id) { return .running }
      return scheduler.isWaitingForDisk(member.id) ? .publishing : .queued
    }
  }

  /// Whether its run has released its slot, and waits for one or for its next attempt.
  func isWaitingForSlot(_ id: TransferID) -> Bool {
    guard let run = runs.run(of: id) else { return false }
    // It has ended with a wait that is not stored yet.
    if let end = run.end { return end.suspension != nil }
    return engine.scheduler.update { !$0.isActive(id) && !$0.isWaitingForDisk(id) }
  }

  /// The number of the last stored state change; 0 before the first one.
  package var lastEventNumber: Int { queue.lastEvent }

  /// How many events wait in memory for subscribers that have not read them.
  package nonisolated var bufferedEvents: Int { engine.hub.bufferedEvents }

  func id(of identifier: String) -> TransferID? { queue.id(of: identifier) }

  func identified(_ ids: [TransferID]) async throws(TransferError) -> [IdentifiedTransfer] {
    try await store.records(ids).map {
      IdentifiedTransfer(id: $0.id, identity: TransferIdentity($0.request))
    }
  }

  /// In list order.
  package func ids(of selection: TransferSelection) -> [TransferID] {
    switch selection.kind {
    case .several(let selections):
      var seen: Set<TransferID> = []
      return selections.flatMap { ids(of: $0) }.filter { seen.insert($0).inserted }
    case .ids(let ids): return ids
    case .all: return inOrder(queue.members.ranks)
    case .group(let group): return inOrder { $0.group == group }
    case .filter(let takes):
      var known: [TransferID: TransferID?] = [:]
      return inOrder { takes(summary($0, &known)) }
    }
  }

  private func inOrder(_ takes: (QueuedMember) -> Bool) -> [TransferID] {
    inOrder(queue.members.values.filter(takes).map { ($0.storedState.rank, $0.id) })
  }

  private func inOrder(
    _ members: some Sequence<(rank: Int64, id: TransferID)>
  ) -> [TransferID] {
    members.sorted { $0 < $1 }.map(\.id)
  }

  func summary(of id: TransferID) -> TransferSummary? {
    summaries(of: .ids([id])).first
  }

  private func summaries(of ids: [TransferID]) -> [TransferSummary] {
    var known: [TransferID: TransferID?] = [:]
    return ids.compactMap { queue.members[$0].map { summary($0, &known) } }
  }

  func summaries(of selection: TransferSelection) -> [TransferSummary] {
    summaries(of: ids(of: selection))
  }

  func summaries(
    after id: TransferID?, atMost count: Int, of group: String?
  ) async throws(TransferError) -> [TransferSummary] {
    var query = RecordQuery(group: group, atMost: max(count, 0))
    if let id {
      guard let member = queue.members[id] else { return [] }
      query.afterRank = member.storedState.rank
    }
    let records = try await store.records(where: query)
    return summaries(of: records.map(\.id))
  }

  /// A page of the members that a closure takes, in the order of the list or from its end.
  /// - Parameter takes: nil for all. It is called with summaries without wait reasons.
  /// - Complexity: O(members of the list)
  package func page(
    after id: TransferID?, atMost count: Int, fromEnd: Bool,
    where takes: ((TransferSummary) -> Bool)? = nil
  ) -> [TransferID] {
    typealias Place = (rank: Int64, id: TransferID)
    func precedes(_ left: Place, _ right: Place) -> Bool { fromEnd ? right < left : left < right }
    var start: Place?
    if let id {
      guard let member = queue.members[id] else { return [] }
      start = (member.storedState.rank, id)
    }
    var page: [Place] = []
    func consider(_ place: Place, _ isTaken: () -> Bool) {
      if let start, !precedes(start, place) { return }
      guard isTaken() else { return }
      page.append(place)
      // A million places are not kept for one page.
      guard page.count >= 4 * count + 1000 else { return }
      page.sort(by: precedes)
      page.removeLast(page.count - count)
    }
    if let takes {
      for member in queue.members.values {
        consider((member.storedState.rank, member.id)) {
          takes(TransferSummary(member, state(of: member), waitReason: nil))
        }
      }
    } else {
      for place in queue.members.ranks { consider(place) { true } }
    }
    return page.sorted(by: precedes).prefix(count).map(\.id)
  }

  /// Which of these transfers are paused, or wait for a paused one, directly or through others.
  /// - Complexity: O(those, and the members in between)
  package func waitingForPaused(_ ids: [TransferID]) -> Set<TransferID> {
    var blockers: [TransferID: TransferID?] = [:]
    var known: [TransferID: Bool] = [:]
    for id in ids {
      var (next, path, waits) = (id, [TransferID](), false)
      while true {
        if let earlier = known[next] {
          waits = earlier
          break
        }
        guard let member = queue.members[next] else { break }
        path.append(next)
        let summary = summary(member, &blockers)
        waits = summary.state == .paused
        guard !waits, case .dependency(let other, isBlocked: false)? = summary.waitReason else {
          break
        }
        next = other
      }
      for id in path { known[id] = waits }
    }
    return Set(ids.filter { known[$0] == true })
  }

  /// What is shown of these transfers, with what is running now; without those that are not in the
  /// list.
  package func views(of ids: [TransferID]) async throws(TransferError) -> [TransferView] {
    try await store.records(ids).compactMap { record in
      summary(of: record.id).map { summary in
        let (state, isEnded) = (queue.members[record.id]?.storedState, summary.state.isEnded)
        let snapshot = engine.hub.snapshot(summary, record)
        var row = TransferList.Row(record, snapshot)
        row.note(length: runs[record.id].location?.length)
        return TransferView(
          row: row, snapshot: snapshot, added: record.added, ended: isEnded ? record.ended : nil,
          lastRun: TransferView.LastRun(record, isEnded: isEnded), request: record.request,
          startsAt: state?.pendingStartTime, startRequest: state?.startRequest,
          nextWaitReason: nextWaitReason(of: summary), waitCause: waitCause(of: summary),
          runsToEnd: runsToEnd(record.id),
          acknowledged: runs.run(of: record.id)?.context.acknowledged)
      }
    }
  }

  /// The members that ended in one of these ways.
  /// - Parameter ofWholeGroups: without those of groups with members that have not ended.
  package func settled(_ ends: Set<TransferResult.State>, ofWholeGroups: Bool) -> [TransferID] {
    queue.members.values.filter { member in
      guard let end = member.end, ends.contains(end) else { return false }
      guard ofWholeGroups else { return true }
      return member.group.flatMap { queue.groups.counts(of: $0)?.isComplete } ?? true
    }.map(\.id)
  }

  /// When members ended, in seconds since 1970; nil if that is unknown. Those that have not are
  /// left out.
  package func ends(
    of ids: [TransferID]
  ) async throws(TransferError) -> [(id: TransferID, time: Double?)] {
    var ends: [(id: TransferID, time: Double?)] = []
    for start in stride(from: 0, to: ids.count, by: portionSize) {
      let some = Array(ids[start..<min(start + portionSize, ids.count)])
      for record in try await store.records(some) where queue.members[record.id]?.end != nil {
        ends.append((record.id, record.ended))
      }
    }
    return ends
  }

  /// What keeps the whole list from starting, if it waits for its start time.
  private func nextWaitReason(of summary: TransferSummary) -> WaitReason? {
    guard case .startTime? = summary.waitReason else { return nil }
    return holdReason
  }

  /// Why nothing new starts; nil while transfers start.
  package var holdReason: WaitReason? {
    engine.scheduler.update { $0.isSuspended ? .suspended : $0.closedReason }
  }

  /// Which bytes of a download are on disk, and which are being fetched; nil unless it runs.
  package func segments(of id: TransferID) -> TransferSegments? {
    runs.run(of: id)?.context.segments
  }

  /// Whether a text is the id or the identifier of a listed transfer.
  package func isWhole(_ text: String) -> Bool {
    TransferID(text).map(queue.members.contains) ?? false || queue.id(of: text) != nil
  }

  /// The transfers that a text may mean: the one with this identifier, otherwise those whose ids
  /// begin with it.
  /// - Complexity: O(members of the list) unless it is a whole id or an identifier.
  package func ids(named text: String) -> [TransferID] {
    let id = TransferID(text)
    // A listed id always means its transfer.
    if let id, queue.members.contains(id) { return [id] }
    if let named = queue.id(of: text) { return [named] }
    return id == nil ? ids(beginningWith: text) : []
  }

  /// The transfers whose ids begin with a text. O(transfers).
  package func ids(beginningWith text: String) -> [TransferID] {
    guard let prefix = TransferID.Prefix(text) else { return [] }
    return queue.members.values.map(\.id).filter(prefix.matches)
  }

  func stream(of id: TransferID) throws(TransferError) -> StreamBuffer {
    guard let stream = runs[id].stream else {
      throw TransferError(.refused, "that transfer has no stream to read")
    }
    guard !runs[id].isStreamRead else { throw TransferError(.refused, "the stream has a reader") }
    runs[id].isStreamRead = true
    return stream
  }
}

/// Snapshots. The subscription begins in the same step, so no event is missed or repeated.
extension QueueCoordinator {
  /// The state of the whole list, for a subscriber that continues from there.
  func snapshot(for key: EventHub.Key) -> QueueSnapshot {
    engine.hub.begin(key)
    return QueueSnapshot(number: queue.lastEvent, transfers: summaries(of: .all))
  }

  /// Makes a subscriber read every state change after `number`; the state of the whole list when
  /// `number` does not exist yet.
  func begin(_ key: EventHub.Key, after number: Int) -> QueueSnapshot? {
    let last = queue.lastEvent
    guard number <= last else { return snapshot(for: key) }
    engine.hub.begin(key, missed: number < last ? number + 1...last : nil)
    return nil
  }

  /// The state of one transfer, and its end if it has ended, for a subscriber that continues from
  /// there.
  func snapshot(of id: TransferID, for key: EventHub.Key) async -> [TransferEvent] {
    // Before anything suspends: what happens later is an event.
    let whole = engine.hub.beginTransfer(key)
    guard let present = presentState(of: id) else { return [] }
    let (event, result) = present.event(await record(of: id))
    guard let result else { return [event] + [whole].compactMap(\.self) }
    let end = TransferEvent(number: nil, id: id, identity: event.identity, kind: .finished(result))
    guard result.state == .completed, let whole else { return [event, end] }
    return [event, whole, end]
  }

  /// The state of one transfer; nil when it is not in the list.
  func snapshot(of id: TransferID) async -> TransferSnapshot? {
    guard case .snapshot(let snapshot)? = await snapshotEvent(of: id)?.kind else { return nil }
    return snapshot
  }

  func snapshotEvent(of id: TransferID) async -> TransferEvent? {
    let record = await record(of: id)
    return presentState(of: id)?.event(record).event
  }

  /// The stored record; nil when it cannot be read: a snapshot without its result is better than
  /// none.
  private func record(of id: TransferID) async -> TransferRecord? {
    let record = (try? await store.records([id]))?.first
    guard let end = queue.members[id]?.end, record?.result?.state != end else { return record }
    // It has ended since.
    return (try? await store.records([id]))?.first
  }

  private func presentState(of id: TransferID) -> PresentState? {
    guard let member = queue.members[id], let summary = summary(of: id) else { return nil }
    let (phase, progress) = engine.hub.live(id)
    return PresentState(
      summary: summary, phase: phase, progress: progress, end: member.end, responses: responses)
  }
}

/// The state of a transfer without its record.
private struct PresentState {
  let summary: TransferSummary
  let phase: TransferEvent.Phase?
  let progress: TransferProgress?
  let end: TransferResult.State?
  let responses: RecentResponses

  /// Its snapshot, and the result if it has ended.
  func event(_ record: TransferRecord?) -> (event: TransferEvent, result: TransferResult?) {
    let result = end.map { state in
      let result = record?.result.flatMap { $0.state == state ? $0 : nil }
      return responses.completed(result ?? TransferResult(state: state), of: summary.id)
    }
    let snapshot = TransferSnapshot(
      summary: summary, phase: phase, progress: progress, result: result)
    let identity = record.map { TransferIdentity($0.request) }
    let event = TransferEvent(
      number: nil, id: summary.id, identity: identity, kind: .snapshot(snapshot))
    return (event, result)
  }
}

/// Awaiting the ends of transfers and groups.
extension QueueCoordinator {
  func result(of id: TransferID) async throws(TransferError) -> TransferResult {
    guard CurrentTransfer.id != id else { throw CurrentTransfer.error }
    guard let end = try await end(of: id, orBlocked: true) else {
      throw waitInterruptedError("the transfer")
    }
    return try end.orThrowError
  }

  /// Its result, also a failure; nil when it was removed, the manager shut down or the task was
  /// cancelled.
  /// - Parameter orBlocked: whether to return when it is blocked by a failed dependency.
  /// - Throws: `io`.
  func end(
    of id: TransferID, orBlocked: Bool
  ) async throws(TransferError) -> TransferResult? {
    while let member = queue.members[id] {
      if let state = member.end {
        guard let record = try await store.records([id]).first else { continue }
        return responses.completed(record.result ?? TransferResult(state: state), of: id)
      }
      if orBlocked, let result = blocked(id) { return result }
      guard !isShutDown, !Task.isCancelled else { return nil }
      if let end = await waiters.ended.valueUnlessCancelled(for: id).flatMap({ $0 }) { return end }
    }
    return nil
  }

  /// The result to report for a transfer that is blocked by a failed dependency; nil for any other.
  func blocked(_ id: TransferID) -> TransferResult? {
    queue.blocker(of: id).map { other in
      let (what, advice) =
        queue.members[other] == nil
        ? ("removed before it completed", "remove this one, and add it again without it")
        : ("not completed", "retry that one")
      return TransferResult(
        state: .failed,
        error: TransferError(
          .dependencyFailed, "the dependency \(other) was \(what)", advice: advice))
    }
  }

  /// Why a wait ended before what it waited for.
  func waitInterruptedError(_ what: String) -> TransferError {
    let reason =
      if Task.isCancelled {
        "the task that waited for the end of \(what) was cancelled"
      } else if isShutDown {
        "the manager was shut down before the end of \(what)"
      } else {
        "\(what) was removed from the list before its end"
      }
    return TransferError(.interrupted, reason)
  }

  func waitUntilEmpty() async {
    let own = CurrentTransfer.id.flatMap { queue.members[$0] } == nil ? 0 : 1
    while queue.outstandingCount > own, !isShutDown, !Task.isCancelled {
      // The list was empty once; what is added later does not count.
      if await waiters.empty.valueUnlessCancelled(for: own) != nil { return }
    }
  }
}
