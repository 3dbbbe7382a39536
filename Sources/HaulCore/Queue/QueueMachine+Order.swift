/// Order and priority.
extension QueueMachine {
  /// Moves members next to each other, in the given order. O(members).
  package mutating func move(
    _ ids: [TransferID], to position: QueuePosition, _ decision: inout QueueDecision
  ) {
    let moved = ids.filter { members[$0] != nil }
    guard !moved.isEmpty, position.other.map({ members[$0] != nil && !moved.contains($0) }) ?? true
    else { return }
    rearrange(moved, to: position, &decision)
    for id in moved { appendEvent(.moved, of: id, &decision) }
  }

  private mutating func rearrange(
    _ moved: [TransferID], to position: QueuePosition, _ decision: inout QueueDecision
  ) {
    switch position {
    case .first: for id in moved.reversed() { set(rank: ranks.prepend(), of: id, &decision) }
    case .last: for id in moved { set(rank: ranks.append(), of: id, &decision) }
    case .before(let other): insertBetween(moved, beside: other, before: true, &decision)
    case .after(let other): insertBetween(moved, beside: other, before: false, &decision)
    }
  }

  /// Changes the priority.
  package mutating func set(
    _ priority: TransferRequest.Priority, of ids: some Sequence<TransferID>,
    _ decision: inout QueueDecision
  ) {
    for id in ids where members[id].map({ $0.storedState.priority != priority }) ?? false {
      change(id) { $0.storedState.priority = priority }
      note(id, nil, &decision, keepsRankAndPriority: false)
      decision.effects.append(.rearrange(id))
    }
  }

  private mutating func insertBetween(
    _ moved: [TransferID], beside other: TransferID, before: Bool, _ decision: inout QueueDecision
  ) {
    let moving = Set(moved)
    let staying = members.values.filter { !moving.contains($0.id) }
      .map { (rank: $0.storedState.rank, id: $0.id) }.sorted { $0 < $1 }
    guard let index = staying.firstIndex(where: { $0.id == other }) else { return }
    let cut = before ? index : index + 1
    let lower = cut > 0 ? staying[cut - 1].rank : ranks.first - RankRange.step
    let upper = cut < staying.count ? staying[cut].rank : ranks.last + RankRange.step
    if let ranks = RankRange.between(lower, upper, count: moved.count) {
      for (id, rank) in zip(moved, ranks) { set(rank: rank, of: id, &decision) }
      return
    }
    // There is no room between the ranks: all members get new ones.
    let order = staying[..<cut].map(\.id) + moved + staying[cut...].map(\.id)
    ranks = RankRange()
    for id in order { set(rank: ranks.append(), of: id, &decision) }
  }

  private mutating func set(
    rank: Int64, of id: TransferID, _ decision: inout QueueDecision
  ) {
    change(id) { $0.storedState.rank = rank }
    ranks.note(rank)
    note(id, nil, &decision, keepsRankAndPriority: false)
    decision.effects.append(.rearrange(id))
  }
}

extension QueuePosition {
  /// The member next to which others are moved.
  fileprivate var other: TransferID? {
    switch self {
    case .first, .last: nil
    case .before(let other), .after(let other): other
    }
  }
}
