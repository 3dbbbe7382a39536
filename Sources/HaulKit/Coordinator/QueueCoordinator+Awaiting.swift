import HaulCore

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
        return record.result ?? TransferResult(state: state)
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
      records.compactMap { record in (record.result ?? blocked(record.id)).map { (record.id, $0) }
      },
      uniquingKeysWith: { $1 })
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

extension TransferResult {
  /// The result if it is a success, else its error is thrown.
  var orThrowError: TransferResult {
    get throws(TransferError) {
      switch state {
      case .completed: self
      case .failed: throw error ?? TransferError(.internal, "the transfer failed without an error")
      case .cancelled: throw TransferError(.cancelled, "it was cancelled")
      }
    }
  }
}

private struct ProgressSum {
  private var bytes: Int64 = 0
  private var total: Int64? = 0
  private var rate = 0.0
  private var connections = 0

  mutating func add(_ progress: TransferProgress?, isRunning: Bool) {
    bytes = bytes.addingUpToMaximum(progress?.bytes ?? 0)
    total = total.flatMap { sum in progress?.total.map { sum.addingUpToMaximum($0) } }
    guard isRunning, let progress else { return }
    rate += progress.rate
    connections += progress.connections
  }

  mutating func add(whole length: Int64) {
    bytes = bytes.addingUpToMaximum(length)
    total = total.map { $0.addingUpToMaximum(length) }
  }

  var progress: TransferProgress {
    TransferProgress(bytes: bytes, total: total, rate: rate, connections: connections)
  }
}

extension Int64 {
  /// The sum, or the maximum on overflow: servers may announce any length.
  fileprivate func addingUpToMaximum(_ other: Int64) -> Int64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? .max : sum
  }
}
