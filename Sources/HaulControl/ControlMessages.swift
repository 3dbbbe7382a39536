package import HaulCore

/// The body of `POST /api/v1/transfers`.
package struct AddBody: Codable, Sendable {
  /// The most transfers that the daemon accepts in one call.
  package static let maximumCount = 10_000

  package var transfers: [NewTransfer]
  /// What happens with an identifier that the list already has.
  package var ifKnown: TransferRequest.IfKnown?
  /// Whether the new ones are paused, and wait for `resume`.
  package var isPaused: Bool?
  /// Whether a download without an identifier finds the one that has not ended and will do the
  /// same.
  package var findsSame: Bool?

  enum CodingKeys: String, CodingKey {
    case transfers
    case ifKnown = "if_known"
    case isPaused = "paused"
    case findsSame = "find_same"
  }

  package init(
    transfers: [NewTransfer], ifKnown: TransferRequest.IfKnown? = nil, isPaused: Bool? = nil,
    findsSame: Bool? = nil
  ) {
    (self.transfers, self.ifKnown) = (transfers, ifKnown)
    (self.isPaused, self.findsSame) = (isPaused, findsSame)
  }

  package init(from decoder: any Decoder) throws {
    let object = try decoder.strictContainer(keyedBy: CodingKeys.self)
    transfers = try object.decodeArray(
      of: NewTransfer.self, forKey: .transfers, atMost: Self.maximumCount)
    ifKnown = try object.decodeIfPresent(TransferRequest.IfKnown.self, forKey: .ifKnown)
    isPaused = try object.decodeIfPresent(Bool.self, forKey: .isPaused)
    findsSame = try object.decodeIfPresent(Bool.self, forKey: .findsSame)
  }
}

/// The answer: the ids, in the order of the body.
package struct AddResponse: Codable, Hashable, Sendable {
  package var ids: [TransferID]
  /// With `find_same`: those of them that were in the list.
  package var same: [TransferID]?

  package init(ids: [TransferID], same: [TransferID]? = nil) {
    (self.ids, self.same) = (ids, same)
  }
}

/// Which transfers a command is for: `ids`, `group` or `all`.
package struct Selection: Codable, Hashable, Sendable {
  /// Ids, unique beginnings of ids, or the callers' identifiers.
  package var ids: [String]?
  package var group: String?
  package var all: Bool?
  /// For `remove` of a group or of all: only what ended in one of these ways, and before this time,
  /// in seconds since 1970.
  package var ends: [TransferResult.State]?
  package var endedBefore: Double?

  enum CodingKeys: String, CodingKey {
    case ids, group, all, ends
    case endedBefore = "ended_before"
  }

  package init(
    ids: [String]? = nil, group: String? = nil, all: Bool? = nil,
    ends: [TransferResult.State]? = nil, endedBefore: Double? = nil
  ) {
    (self.ids, self.group, self.all) = (ids, group, all)
    (self.ends, self.endedBefore) = (ends, endedBefore)
  }

  /// Whether it leaves out what has not ended.
  package var isOfEnds: Bool { ends != nil || endedBefore != nil }

  package init(from decoder: any Decoder) throws {
    let object = try decoder.strictContainer(keyedBy: CodingKeys.self)
    ids =
      try !object.contains(.ids) || object.decodeNil(forKey: .ids)
      ? nil : object.decodeArray(of: String.self, forKey: .ids, atMost: AddBody.maximumCount)
    group = try object.decodeIfPresent(String.self, forKey: .group)
    all = try object.decodeIfPresent(Bool.self, forKey: .all)
    if object.contains(.ends), try !object.decodeNil(forKey: .ends) {
      ends = try object.decodeArray(of: TransferResult.State.self, forKey: .ends, atMost: 3)
    }
    endedBefore = try object.decodeIfPresent(Double.self, forKey: .endedBefore)
  }
}

/// The body of `POST /api/v1/commands`.
package struct CommandBody: Codable, Hashable, Sendable {
  package enum Name: String, Codable, CaseIterable, Sendable {
    case pause, resume, requeue, cancel, retry, restart, remove, start, move, prioritize
  }

  /// A place in the list: exactly one of these.
  package struct Position: Codable, Hashable, Sendable {
    package var first: Bool?
    package var last: Bool?
    /// An id, a unique beginning of one, or an identifier.
    package var before: String?
    package var after: String?

    enum CodingKeys: String, CodingKey { case first, last, before, after }

    package init(
      first: Bool? = nil, last: Bool? = nil, before: String? = nil, after: String? = nil
    ) {
      (self.first, self.last, self.before, self.after) = (first, last, before, after)
    }

    package init(from decoder: any Decoder) throws {
      let object = try decoder.strictContainer(keyedBy: CodingKeys.self)
      first = try object.decodeIfPresent(Bool.self, forKey: .first)
      last = try object.decodeIfPresent(Bool.self, forKey: .last)
      before = try object.decodeIfPresent(String.self, forKey: .before)
      after = try object.decodeIfPresent(String.self, forKey: .after)
    }
  }

  package var command: Name
  package var transfers: Selection
  /// For `cancel`: the part file stays.
  package var keepsPart: Bool?
  /// For `remove`: the files of completed downloads are deleted too.
  package var deletesFiles: Bool?
  /// For `start`: above the limits.
  package var force: Bool?
  /// For `move`.
  package var to: Position?
  /// For `prioritize`.
  package var priority: String?

  enum CodingKeys: String, CodingKey {
    case command, transfers, force, to, priority
    case keepsPart = "keep_part"
    case deletesFiles = "delete_files"
  }

  package init(_ command: Name, _ transfers: Selection) {
    (self.command, self.transfers) = (command, transfers)
  }

  package init(from decoder: any Decoder) throws {
    let object = try decoder.strictContainer(keyedBy: CodingKeys.self)
    command = try object.decode(Name.self, forKey: .command)
    transfers = try object.decode(Selection.self, forKey: .transfers)
    keepsPart = try object.decodeIfPresent(Bool.self, forKey: .keepsPart)
    deletesFiles = try object.decodeIfPresent(Bool.self, forKey: .deletesFiles)
    force = try object.decodeIfPresent(Bool.self, forKey: .force)
    to = try object.decodeIfPresent(Position.self, forKey: .to)
    priority = try object.decodeIfPresent(String.self, forKey: .priority)
    try refuseForeignKeys(object.allKeys)
  }

  /// - Throws: `StrictJSON.Malformed`.
  private func refuseForeignKeys(_ keys: [CodingKeys]) throws {
    for key in keys {
      let owner: Name? =
        switch key {
        case .command, .transfers: nil
        case .keepsPart: .cancel
        case .deletesFiles: .remove
        case .force: .start
        case .to: .move
        case .priority: .prioritize
        }
      guard let owner, owner != command else { continue }
      throw StrictJSON.Malformed("'\(key.rawValue)' belongs to '\(owner.rawValue)'")
    }
  }
}

/// The answer: what was done, and what was refused.
package struct CommandResponse: Codable, Hashable, Sendable {
  package struct Refusal: Codable, Hashable, Sendable {
    package var id: TransferID
    package var reason: CommandRefusal
    package var message: String

    package init(id: TransferID, reason: CommandRefusal) {
      (self.id, self.reason, message) = (id, reason, TransferError(reason).message)
    }
  }

  /// The transfers of the selection.
  package var ids: [TransferID]
  package var refused: [Refusal]
  /// Files that `delete_files` did not delete: it cannot, or they have changed.
  package var left: [String]

  package init(ids: [TransferID], refused: [Refusal], left: [String] = []) {
    (self.ids, self.refused, self.left) = (ids, refused, left)
  }
}

/// `GET /api/v1/queue`, and the body of `PATCH /api/v1/queue`.
package struct QueueDocument: Codable, Hashable, Sendable {
  package var isSuspended: Bool

  enum CodingKeys: String, CodingKey { case isSuspended = "is_suspended" }

  package init(isSuspended: Bool) { self.isSuspended = isSuspended }

  package init(from decoder: any Decoder) throws {
    let object = try decoder.strictContainer(keyedBy: CodingKeys.self)
    isSuspended = try object.decode(Bool.self, forKey: .isSuspended)
  }
}

/// A body without keys.
package struct NoKeys: Codable, Hashable, Sendable {
  private enum CodingKeys: CodingKey {}

  package init() {}

  package init(from decoder: any Decoder) throws {
    _ = try decoder.strictContainer(keyedBy: CodingKeys.self)
  }
}

/// The body of `PATCH /api/v1/transfers/ID`.
package struct ChangeBody: Codable, Hashable, Sendable {
  package var priority: String?
  package var url: String?
  /// Bytes per second; 0 for none.
  package var rateLimit: Int64?
  /// Seconds since 1970; 0 or a past time for at once.
  package var startsAt: Double?
  /// Whether the new address has the same file although its name differs: the file keeps its name.
  package var keepsName: Bool?
  /// Header fields to set or to remove; the others are kept. They are in no answer.
  package var headers: [HeaderChange]?
  /// Empty for none.
  package var group: String?
  /// The absolute path of the file of the token in `Authorization`, which is read again. Over the
  /// socket only. A change of that field without it forgets the file.
  package var bearerFile: String?
  /// When it runs again; empty for never.
  package var every: String?

  enum CodingKeys: String, CodingKey {
    case priority, url, headers, group, every
    case bearerFile = "bearer_file"
    case rateLimit = "rate_limit"
    case startsAt = "starts_at"
    case keepsName = "keeps_name"
  }

  package init(
    priority: String? = nil, url: String? = nil, rateLimit: Int64? = nil, startsAt: Double? = nil,
    keepsName: Bool? = nil, headers: [HeaderChange]? = nil, group: String? = nil,
    every: String? = nil
  ) {
    (self.priority, self.url, self.group, self.every) = (priority, url, group, every)
    (self.rateLimit, self.startsAt) = (rateLimit, startsAt)
    (self.keepsName, self.headers) = (keepsName, headers)
  }

  package init(from decoder: any Decoder) throws {
    let object = try decoder.strictContainer(keyedBy: CodingKeys.self)
    priority = try object.decodeIfPresent(String.self, forKey: .priority)
    url = try object.decodeIfPresent(String.self, forKey: .url)
    rateLimit = try object.decodeIfPresent(Int64.self, forKey: .rateLimit)
    startsAt = try object.decodeIfPresent(Double.self, forKey: .startsAt)
    keepsName = try object.decodeIfPresent(Bool.self, forKey: .keepsName)
    if object.contains(.headers), try !object.decodeNil(forKey: .headers) {
      headers = try object.decodeArray(
        of: HeaderChange.self, forKey: .headers, atMost: HeaderChange.maximumCount)
    }
    group = try object.decodeIfPresent(String.self, forKey: .group)
    bearerFile = try object.decodeIfPresent(String.self, forKey: .bearerFile)
    every = try object.decodeIfPresent(String.self, forKey: .every)
  }
}

/// `GET /api/v1/status`.
package struct StatusDocument: Codable, Hashable, Sendable {
  package var version: String
  package var pid: Int32
  package var isSuspended: Bool
  /// The number of transfers in each state.
  package var counts: [String: Int]
  /// Over TCP: the directories below which files may be written.
  package var roots: [String]?
  /// Why nothing new starts: it is suspended, or outside the schedule.
  package var waiting: TransferDocument.Wait?
  /// Ports of open pages that another program has taken.
  package var takenPorts: [Int]
  /// SHA-256 of the certificate of its listeners.
  package var fingerprint: String?
  /// Whether `haul.conf` has changed since the daemon read it.
  package var hasNewConfiguration: Bool?
  /// Keys of `haul.conf` that a reload has read, and that count after a restart.
  package var needsRestart: [String]?

  enum CodingKeys: String, CodingKey {
    case version, pid, counts, roots, waiting, fingerprint
    case hasNewConfiguration = "has_new_configuration"
    case needsRestart = "needs_restart"
    case isSuspended = "is_suspended"
    case takenPorts = "taken_ports"
  }

  package init(
    version: String, pid: Int32, isSuspended: Bool, counts: [String: Int], roots: [String]?,
    waiting: TransferDocument.Wait?, takenPorts: [Int], fingerprint: String? = nil,
    hasNewConfiguration: Bool? = nil, needsRestart: [String]? = nil
  ) {
    self.needsRestart = needsRestart
    (self.fingerprint, self.hasNewConfiguration) = (fingerprint, hasNewConfiguration)
    (self.version, self.pid, self.takenPorts) = (version, pid, takenPorts)
    (self.isSuspended, self.counts, self.roots) = (isSuspended, counts, roots)
    self.waiting = waiting
  }
}
