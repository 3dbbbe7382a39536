package import HaulCore

/// A report of an end, of a transfer or of a group, or of a long wait. As JSON, it is the body of
/// a webhook and an entry of `GET /api/v1/notices`. Unknown values are null, never left out.
package struct Notice: Codable, Hashable, Sendable {
  package enum Kind: String, Codable, Sendable {
    /// A transfer has ended.
    case transfer
    /// All members of a group have ended.
    case group
    /// Several ends reported together, as the desktop does if there are many.
    case several
    /// Ends that a channel could not deliver, because it failed for too long.
    case dropped
    /// Transfers wait until a person fixes the cause, or have waited for an hour; or such a wait is
    /// over.
    case waiting
    /// A list of the watch folder was not added.
    case list
  }

  /// What is waited for.
  package struct Waiting: Codable, Hashable, Sendable {
    /// As in `WaitReason.code`.
    package var code: String
    /// Seconds since 1970.
    package var since: Double
    package var isOver: Bool

    enum CodingKeys: String, CodingKey {
      case code, since
      case isOver = "over"
    }
  }

  /// How the members of a group, or several transfers, ended.
  package struct Counts: Codable, Hashable, Sendable {
    package var completed: Int
    package var failed: Int
    package var cancelled: Int

    package init(completed: Int, failed: Int, cancelled: Int) {
      (self.completed, self.failed, self.cancelled) = (completed, failed, cancelled)
    }

    package var all: Int { completed + failed + cancelled }
  }

  /// The same each time this end is reported; no other end has it.
  package var id: String
  /// The number of the state change in the log; 0 for a list.
  package var number: Int
  package var kind: Kind
  /// A group has `failed` if a member failed, otherwise `cancelled` if one was cancelled.
  @Nullable package var state: TransferResult.State?
  @Nullable package var transfer: TransferID?
  @Nullable package var group: String?
  /// The name of the file, the program, the step or the group.
  package var name: String
  @Nullable package var path: String?
  @Nullable package var error: TransferDocument.Failure?
  /// A code, as in a result.
  @Nullable package var warning: String?
  /// Of a completed transfer, as in its result.
  @Nullable package var isUnchanged: Bool?
  /// The length of the file.
  @Nullable package var bytes: Int64?
  @Nullable package var counts: Counts?
  @Nullable package var waiting: Waiting?
  /// When the notice was made, in seconds since 1970: when the transfer ended, or when the daemon
  /// ran again after that.
  package var time: Double
  /// What ended and how, in one line without control characters.
  package var title: String
  /// The path, the reason or the numbers, likewise.
  package var text: String

  enum CodingKeys: String, CodingKey {
    case id, number, kind, state, transfer, group, name, path, error, warning
    case isUnchanged = "is_unchanged"
    case bytes, counts, waiting, time, title, text
  }

  package init(
    id: String, number: Int, kind: Kind, name: String, time: Double, title: String, text: String
  ) {
    (self.id, self.number, self.kind, self.name) = (id, number, kind, name)
    (self.time, self.title, self.text) = (time, title, text)
  }
}

/// `GET /api/v1/notices`: the newest ends, and how many were not seen yet.
package struct NoticePage: Codable, Hashable, Sendable {
  /// Newest first.
  package var notices: [Notice]
  package var unseen: Int

  package init(notices: [Notice], unseen: Int) {
    (self.notices, self.unseen) = (notices, unseen)
  }
}

/// The body of `PATCH /api/v1/notices`.
package struct SeenBody: Codable, Hashable, Sendable {
  /// The number of the newest notice that was seen.
  package var seenUpTo: Int
  /// Whether those up to that number leave the list.
  package var clears: Bool?

  enum CodingKeys: String, CodingKey {
    case seenUpTo = "seen_up_to"
    case clears = "clear"
  }

  package init(seenUpTo: Int, clears: Bool? = nil) {
    (self.seenUpTo, self.clears) = (seenUpTo, clears)
  }

  package init(from decoder: any Decoder) throws {
    let object = try decoder.strictContainer(keyedBy: CodingKeys.self)
    seenUpTo = try object.decode(Int.self, forKey: .seenUpTo)
    clears = try object.decodeIfPresent(Bool.self, forKey: .clears)
  }
}
