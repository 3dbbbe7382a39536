public import HaulCore

/// A handle of the transfers that were added with one group name.
public struct TransferGroup: Sendable, Hashable {
  /// What its members say.
  public let name: String
  let manager: TransferManager

  /// Its members, for every command of the manager.
  public var selection: TransferSelection { .group(name) }

  /// How many members there are, and how those that have ended did.
  public var counts: GroupCounts {
    get async { await manager.counts(of: name) }
  }

  /// Waits until every member has ended, in whichever way, and says how each did; at once when that is so already, and when there
  /// is no member. A member that is added later opens the group again.
  ///
  /// It does not wait for a member behind a transfer that was not completed. The result reports that member as failed with
  /// `dependency-failed`; it stays in the list, and resumes when that transfer is retried and completed.
  /// - Throws: `interrupted` when the manager was shut down or the waiting task cancelled; `dependency-failed` when a step of
  ///   the group calls it; `io`.
  /// - Complexity: O(members of the list).
  public func completion() async throws(TransferError) -> [TransferID: TransferResult] {
    try await manager.completion(of: name)
  }

  /// Whether they are handles of the same group.
  public static func == (left: TransferGroup, right: TransferGroup) -> Bool {
    left.name == right.name && left.manager === right.manager
  }

  /// The name is what counts.
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// Members of a group.
public struct GroupCounts: Sendable, Hashable {
  /// All of them.
  public let members: Int
  /// Those that were completed.
  public let completed: Int
  /// Those that failed.
  public let failed: Int
  /// Those that were cancelled.
  public let cancelled: Int

  /// Those that have ended.
  public var ended: Int { completed + failed + cancelled }
}

extension TransferManager {
  /// The group of that name; it need not have members yet.
  public nonisolated func group(_ name: String) -> TransferGroup {
    TransferGroup(name: name, manager: self)
  }

  func counts(of group: String) -> GroupCounts {
    let counts = queue.groups.counts(of: group)
    return GroupCounts(
      members: counts?.members ?? 0, completed: counts?.completed ?? 0,
      failed: counts?.failed ?? 0, cancelled: counts?.cancelled ?? 0)
  }

  func completion(
    of group: String
  ) async throws(TransferError) -> [TransferID: TransferResult] {
    if let own = OwnTransfer.id, queue.members[own]?.facts.group == group {
      throw OwnTransfer.error
    }
    var isTold = false
    while true {
      if isTold || isOver(group), let outcomes = try await outcomes(of: group, isTold) {
        return outcomes
      }
      guard !isOver(group) else { continue }
      guard !isShutDown, !Task.isCancelled else {
        throw TransferError(.interrupted, "the group was not waited for until its end")
      }
      isTold = await waits.groups.valueUnlessCancelled(for: group) == true
    }
  }

  /// Whether every member has ended, or does not run before another transfer is retried.
  private func isOver(_ group: String) -> Bool {
    guard let counts = queue.groups.counts(of: group), !counts.isComplete else { return true }
    return queue.members.values.allSatisfy { member in
      member.facts.group != group || member.end != nil
        || queue.obstruction(of: member.facts.id) != nil
    }
  }

  /// How each member ended; nil when the group is not over, and was not told to be.
  private func outcomes(
    of group: String, _ isTold: Bool
  ) async throws(TransferError) -> [TransferID: TransferResult]? {
    // What is decided is stored when the turn is over, or does not hold.
    try await turns.run { () async throws(TransferError) -> [TransferID: TransferResult]? in
      guard isTold || isOver(group) else { return nil }
      let records = try await store.records(ids(of: .group(group)))
      return Dictionary(
        records.compactMap { record in
          (record.result ?? obstruction(of: record.id)).map { (record.id, $0) }
        },
        uniquingKeysWith: { $1 })
    }
  }
}
