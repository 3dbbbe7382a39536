public import HaulCore

/// A handle of the transfers that were added with one group name.
public struct TransferGroup: TransferSelectable, Hashable {
  /// The group name of its members.
  public let name: String
  let manager: TransferManager

  /// Its members, for any command of the manager.
  public var selection: TransferSelection { .group(name) }

  /// The number of members, and how those that have ended did.
  public var counts: GroupCounts {
    get async { GroupCounts(await manager.coordinator.counts(of: name)) }
  }

  /// Waits until every member has ended, in whatever way, and returns each result; at once if that
  /// is so already, or the group has no members. A member that is added later opens the group
  /// again.
  ///
  /// It does not wait for a member that is blocked by a failed dependency. The result reports that
  /// member as failed with `dependency-failed`; it stays in the list, and resumes when the
  /// dependency is retried and completed.
  /// - Throws: `interrupted` when the manager was shut down or the waiting task cancelled;
  ///   `dependency-failed` when a step of the group calls it; `io`.
  /// - Complexity: O(members of the list).
  public func completion() async throws(TransferError) -> [TransferID: TransferResult] {
    try await manager.coordinator.completion(of: name)
  }

  /// The progress of its downloads and uploads together, in bytes, without those that failed or
  /// were cancelled.
  /// The total is nil while the length of one is unknown, as it is before it starts.
  /// - Throws: `io`.
  /// - Complexity: O(members of the list).
  public var progress: TransferProgress {
    get async throws(TransferError) { try await manager.coordinator.progress(of: name) }
  }

  /// How much of its members is done, from 0 to 100, rounded down: each counts the same, and what
  /// has ended, in whatever way, is done. Unlike `progress`, it needs no length: a member without
  /// one counts when it ends. 100 only when every member has ended; nil without members.
  /// - Complexity: O(members of the list).
  public var percent: Int? {
    get async { await manager.coordinator.percent(of: name) }
  }

  /// Whether they are handles of the same group.
  public static func == (left: TransferGroup, right: TransferGroup) -> Bool {
    left.name == right.name && left.manager === right.manager
  }

  /// Hashes the name.
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// Counts of a group's members.
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

  /// Nil counts are a group without members.
  init(_ counts: GroupProgress.Counts?) {
    (members, completed) = (counts?.members ?? 0, counts?.completed ?? 0)
    (failed, cancelled) = (counts?.failed ?? 0, counts?.cancelled ?? 0)
  }
}
