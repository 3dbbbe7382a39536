public import HaulCore

/// A handle of the transfers that were added with one group name.
public struct TransferGroup: Sendable, Hashable {
  /// What its members say.
  public let name: String
  let manager: TransferManager
  let queue: QueueCoordinator

  /// Its members, for every command of the manager.
  public var selection: TransferSelection { .group(name) }

  /// How many members there are, and how those that have ended did.
  public var counts: GroupCounts {
    get async { GroupCounts(await queue.counts(of: name)) }
  }

  /// Waits until every member has ended, in whichever way, and says how each did; at once when that
  /// is so already, and when there is no member. A member that is added later opens the group
  /// again.
  ///
  /// It does not wait for a member behind a transfer that was not completed. The result reports
  /// that member as failed with `dependency-failed`; it stays in the list, and resumes when that
  /// transfer is retried and completed.
  /// - Throws: `interrupted` when the manager was shut down or the waiting task cancelled;
  ///   `dependency-failed` when a step of the group calls it; `io`.
  /// - Complexity: O(members of the list).
  public func completion() async throws(TransferError) -> [TransferID: TransferResult] {
    try await queue.completion(of: name)
  }

  /// How far its downloads are together, in bytes; without those that failed or were cancelled, as
  /// nothing more comes of them. The total is nil while the length of one is unknown, as it is
  /// before it has begun.
  /// - Throws: `io`.
  /// - Complexity: O(members of the list).
  public var progress: TransferProgress {
    get async throws(TransferError) { try await queue.progress(of: name) }
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

  /// Nil is a group without members.
  init(_ counts: GroupProgress.Counts?) {
    (members, completed) = (counts?.members ?? 0, counts?.completed ?? 0)
    (failed, cancelled) = (counts?.failed ?? 0, counts?.cancelled ?? 0)
  }
}
