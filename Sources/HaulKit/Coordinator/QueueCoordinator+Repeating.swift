import HaulCore

/// Transfers that run again after each end.
extension QueueCoordinator {
  /// - Throws: `not-yet-supported` for what cannot be repeated; `internal` without time zones.
  func checkRepetitions(of requests: [TransferRequest]) throws(TransferError) {
    for request in requests where request.repetition != nil {
      try request.checkRepetition()
      try request.repetition?.checkTimeZone()
    }
  }

  /// New requests, with the start of their intervals, or their first time of day.
  func planned(_ requests: [TransferRequest]) -> [TransferRequest] {
    guard requests.contains(where: { $0.repetition != nil }) else { return requests }
    let now = engine.clock.wallSeconds
    return requests.map { request in
      guard var repetition = request.repetition else { return request }
      var request = request
      if repetition.isInterval {
        repetition.start = repetition.start ?? max(request.startTime ?? now, now)
        request.repetition = repetition
      } else if request.startSeconds == nil {
        request.startSeconds = repetition.next(after: now)
      }
      return request
    }
  }

  /// Begins the intervals of a changed repetition now. A transfer that waits for a planned time
  /// gets another one, unless its owner has just set one.
  func plan(
    _ request: inout TransferRequest, after old: TransferRequest, of member: QueuedMember
  ) {
    guard var repetition = request.repetition else { return }
    guard !repetition.isSame(as: old.repetition) else { return request.repetition = old.repetition }
    let now = engine.clock.wallSeconds
    if repetition.isInterval { repetition.start = repetition.start ?? now }
    request.repetition = repetition
    guard let former = old.repetition, member.hasRun || !former.isInterval,
      member.state == .queued || member.state == .paused, let time = member.storedState.startTime,
      request.startSeconds == time
    else { return }
    request.startSeconds = repetition.next(after: now)
  }

  /// When a transfer whose run ends now runs again, in seconds since 1970; nil if it does not.
  func nextRun(of id: TransferID) -> Double? {
    (repetitions[id] ?? nil)?.next(after: engine.clock.wallSeconds)
  }

  /// Notes how a transfer repeats when it is launched: nothing is kept of one that does not. One
  /// that does is tried at each of its times.
  func note(_ repetition: Repetition?, of id: TransferID) {
    if let repetition {
      repetitions.updateValue(repetition, forKey: id)
      // Nobody may be there to give it other credentials, and they may be accepted by now.
      if let host = queue.members[id]?.host { engine.forgiveCredentials(at: [host]) }
    } else if !repetitions.isEmpty {
      repetitions.removeValue(forKey: id)
    }
  }

  /// Brings runs forward whose planned times have become too late, because the clock was set back.
  /// - Parameter ids: transfers that wait for start times.
  func replan(_ ids: [TransferID]) async {
    let waiting = ids.filter { queue.members[$0]?.hasRun == true }
    guard !waiting.isEmpty else { return }
    let unknown = waiting.filter { repetitions[$0] == nil }
    // What cannot be read now keeps its time until the next check.
    for record in unknown.isEmpty ? [] : (try? await store.records(unknown)) ?? [] {
      repetitions.updateValue(record.request.repetition, forKey: record.id)
    }
    let earlier = waiting.compactMap { id -> (TransferID, Double)? in
      guard let time = queue.members[id]?.storedState.pendingStartTime, let next = nextRun(of: id),
        next < time - 1
      else { return nil }
      return (id, next)
    }
    guard !earlier.isEmpty else { return }
    await performDecisionWithoutStarting { queue, decision in
      for (id, time) in earlier { queue.replan(id, at: time, &decision) }
    }
  }
}

extension Repetition {
  /// The first planned time after an instant, by the clock of this system.
  package func next(after seconds: Double) -> Double? {
    // Without zones, times of day were refused.
    let zone: any TimeZoneOffsets = (try? SystemTimeZone(nil)) ?? UTC()
    return next(after: seconds, at: zone)
  }

  /// - Throws: `internal` if no time zones are installed, for times of day.
  func checkTimeZone() throws(TransferError) {
    if !isInterval { _ = try SystemTimeZone(nil) }
  }

  private struct UTC: TimeZoneOffsets {
    func offset(at seconds: Int64) -> Int64 { 0 }
  }
}
