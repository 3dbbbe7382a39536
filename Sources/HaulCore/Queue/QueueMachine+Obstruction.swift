/// Members that wait behind one that was not completed: they go on when that is retried, and not before.
extension QueueMachine {
  /// The member without whose completion a queued one does not run, directly or behind others; nil when it may yet run by
  /// itself. O(those in between).
  package func obstruction(of id: TransferID) -> TransferID? {
    var id = id
    while members.state(of: id) == .queued {
      switch graph.verdict(of: id) {
      case .blocked(let other): return other
      case .waiting(let other): id = other
      case .ready, .skipped: return nil
      }
    }
    return nil
  }

  /// Of those whose verdict has changed, the ones that wait so, and all behind them that therefore do as well, each with what is
  /// in its way. O(all of those, and what is in between).
  package func obstructed(_ ids: [TransferID]) -> [(id: TransferID, by: TransferID)] {
    var found: [(id: TransferID, by: TransferID)] = []
    var seen: Set<TransferID> = []
    for id in ids where !seen.contains(id) {
      guard let other = obstruction(of: id) else { continue }
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
