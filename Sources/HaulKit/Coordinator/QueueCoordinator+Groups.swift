import HaulCore

/// Groups.
extension QueueCoordinator {
  func counts(of group: String) -> GroupProgress.Counts? { queue.groups.counts(of: group) }

  func completion(
    of group: String
  ) async throws(TransferError) -> [TransferID: TransferResult] {
    if let own = CurrentTransfer.id, queue.members[own]?.group == group {
      throw CurrentTransfer.error
    }
    while true {
      if isOver(group) { return try await outcomes(of: group) }
      guard !isShutDown, !Task.isCancelled else {
        throw waitInterruptedError("the group")
      }
      // The group may have new members by now.
      if await waiters.groups.valueUnlessCancelled(for: group) == true {
        return try await outcomes(of: group)
      }
    }
  }

  /// Whether every member has ended or is blocked by a failed dependency.
  private func isOver(_ group: String) -> Bool {
    guard let counts = queue.groups.counts(of: group), !counts.isComplete else { return true }
    return queue.members.values.allSatisfy { member in
      member.group != group || member.end != nil
        || queue.blocker(of: member.id) != nil
    }
  }

  /// The result of each member.
  private func outcomes(
    of group: String
  ) async throws(TransferError) -> [TransferID: TransferResult] {
    let records = try await store.records(ids(of: .group(group)))
    return Dictionary(
      records.compactMap { record in
        (record.result ?? blocked(record.id)).map {
          (record.id, responses.completed($0, of: record.id))
        }
      },
      uniquingKeysWith: { $1 })
  }

  func percent(of group: String) -> Int? {
    guard let counts = queue.groups.counts(of: group), counts.members > 0 else { return nil }
    guard !counts.isComplete else { return 100 }
    let running = queue.members.values.lazy.filter { $0.group == group && $0.end == nil }
      .map { self.engine.hub.live($0.id).progress?.fraction ?? 0 }
    let done = running.reduce(Double(counts.ended), +)
    return min(Int(done / Double(counts.members) * 100), 99)
  }

  func progress(of group: String) async throws(TransferError) -> TransferProgress {
    var sum = ProgressSum()
    var completed: [TransferID] = []
    for id in ids(of: .group(group)) {
      // A step, which has no host, has no bytes either.
      guard let member = queue.members[id], member.host != nil else { continue }
      switch member.end {
      case .completed: completed.append(id)
      case .failed, .cancelled: continue
      case nil: sum.add(engine.hub.live(id).progress, isRunning: member.state == .running)
      }
    }
    for record in try await store.records(completed) { sum.add(whole: record.result?.bytes ?? 0) }
    return sum.progress
  }
}
