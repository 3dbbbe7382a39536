/// Members blocked by a dependency that was not completed. They resume only when it is retried.
extension QueueMachine {
  /// The member that blocks a queued one, directly or through others; nil if it may still start by
  /// itself. O(members in between).
  package func blocker(of id: TransferID) -> TransferID? {
    var known: [TransferID: TransferID?] = [:]
    return blocker(of: id, &known)
  }

  /// - Parameter known: earlier results; for many members, all calls together are O(n).
  private func blocker(
    of id: TransferID, _ known: inout [TransferID: TransferID?]
  ) -> TransferID? {
    var (id, found, path) = (id, TransferID?.none, [TransferID]())
    search: while members.state(of: id) == .queued {
      if let earlier = known[id] {
        found = earlier
        break
      }
      switch graph.readiness(of: id) {
      case .blocked(let other):
        found = other
        break search
      case .waiting(let other):
        path.append(id)
        id = other
      case .ready, .skipped: break search
      }
    }
    for id in path { known[id] = .some(found) }
    return found
  }

  /// Why a member waits, as far as the queue knows; the scheduler knows more about `slot`. Nil if
  /// it does not wait. A stored reason counts until the next attempt.
  /// - Parameter known: results of earlier calls; for many members, all calls together are O(n).
  package func waitReason(
    of member: QueuedMember, at wallSeconds: Double, _ known: inout [TransferID: TransferID?]
  ) -> WaitReason? {
    let reason = member.storedState.waitReason
    switch member.state {
    case .queued: break
    // A running member may wait for its next attempt without its slot.
    case .running: return (reason?.untilSeconds).map { $0 > wallSeconds } == true ? reason : nil
    default: return nil
    }
    // A scheduled member no longer waits for its next attempt.
    if member.isScheduled, member.storedState.retryAt != nil { return .slot }
    // A start time counts after the dependencies. The scheduler knows the pauses of hosts.
    let storedState = member.storedState
    let isLater =
      storedState.hostPause != nil || storedState.startTime != nil && !member.isPostponed
    if !isLater, let reason { return reason }
    if member.isScheduled { return .slot }
    let id = member.id
    switch graph.readiness(of: id) {
    case .blocked(let other), .skipped(let other): return .dependency(other, isBlocked: true)
    case .waiting(let other):
      let blocker = blocker(of: id, &known)
      return .dependency(blocker ?? other, isBlocked: blocker != nil)
    case .ready: return nil
    }
  }

  /// The blocked members among these ids, and all members that they block, each with its blocker.
  /// O(those, and the members in between).
  package func blocked(_ ids: [TransferID]) -> [(id: TransferID, by: TransferID)] {
    var found: [(id: TransferID, by: TransferID)] = []
    var seen: Set<TransferID> = []
    for id in ids where !seen.contains(id) {
      guard let other = blocker(of: id) else { continue }
      var rest = [id]
      while let next = rest.popLast() {
        guard seen.insert(next).inserted else { continue }
        found.append((next, other))
        rest += graph.dependents(of: next).filter { waits($0, for: next) }
      }
    }
    return found
  }

  private func waits(_ id: TransferID, for other: TransferID) -> Bool {
    members.state(of: id) == .queued && graph.readiness(of: id) == .waiting(on: other)
  }
}
