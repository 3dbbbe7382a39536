/// Members that wait behind one that was not completed: they go on when that is retried, and not
/// before.
extension QueueMachine {
  /// The member without whose completion a queued one does not run, directly or behind others; nil
  /// when it may yet run by itself. O(those in between).
  package func blocker(of id: TransferID) -> TransferID? {
    var known: [TransferID: TransferID?] = [:]
    return blocker(of: id, &known)
  }

  /// - Parameter known: what was found before, for many members in O(all of them).
  private func blocker(
    of id: TransferID, _ known: inout [TransferID: TransferID?]
  ) -> TransferID? {
    var (id, found, path) = (id, TransferID?.none, [TransferID]())
    search: while members.state(of: id) == .queued {
      if let earlier = known[id] {
        found = earlier
        break
      }
      switch graph.verdict(of: id) {
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

  /// Why a member waits, as far as the queue knows: the scheduler knows more of `slot`. Nil for one
  /// that does not wait. What was in its way when the list was stored counts until it is tried
  /// again.
  /// - Parameter known: what earlier calls found, for many members in O(all of them).
  package func waitReason(
    of member: Member, at wallSeconds: Double, _ known: inout [TransferID: TransferID?]
  ) -> WaitReason? {
    let reason = member.facts.storedState.waitReason
    switch member.state {
    case .queued: break
    // It waits with its slot given back.
    case .running: return (reason?.until).map { $0 > wallSeconds } == true ? reason : nil
    default: return nil
    }
    // One that has a place in the order does not wait for its next attempt any more.
    if member.isScheduled, member.facts.storedState.retryAt != nil { return .slot }
    if let reason { return reason }
    if member.isScheduled { return .slot }
    let id = member.facts.id
    switch graph.verdict(of: id) {
    case .blocked(let other), .skipped(let other): return .dependency(other, isBlocked: true)
    case .waiting(let other):
      let blocker = blocker(of: id, &known)
      return .dependency(blocker ?? other, isBlocked: blocker != nil)
    case .ready: return nil
    }
  }

  /// Of those whose verdict has changed, the ones that wait so, and all behind them that therefore
  /// do as well, each with what is in its way. O(all of those, and what is in between).
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
    members.state(of: id) == .queued && graph.verdict(of: id) == .waiting(on: other)
  }
}
