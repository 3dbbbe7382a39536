/// The durable state of a transfer; what it does right now is never stored.
package enum TransferStatus: String, Sendable, Hashable, Codable, CaseIterable {
  case queued, paused, failed, completed, cancelled
}

/// What was last ordered of a transfer. Where the status differs, the order was not yet carried out
/// when the process died.
package enum Desired: String, Sendable, Hashable, Codable, CaseIterable {
  case run, paused, cancelled, cancelledKeepingBytes, removed
}

/// One transfer as it is stored.
package struct TransferRecord: Sendable, Hashable {
  package let id: TransferID
  package var request: TransferRequest
  package var storedState: StoredState
  /// How it ended last, if it has.
  package var result: TransferResult?

  package init(
    id: TransferID, request: TransferRequest, storedState: StoredState = StoredState(),
    result: TransferResult? = nil
  ) {
    self.id = id
    self.request = request
    self.storedState = storedState
    self.result = result
  }
}

/// The part of a record that commands change.
package struct StoredState: Sendable, Hashable {
  package var status = TransferStatus.queued
  package var desired = Desired.run
  /// Its place in the list.
  package var rank: Int64 = 0
  package var priority = TransferRequest.Priority.default
  /// Who paused it; nil unless it is paused, or is to be.
  package var pausedBy: TransferEvent.Initiator?
  /// Whether the next run forgets the bytes that are there.
  package var startsOver = false
  /// Whether it has run, so that there may be bytes.
  package var hasRun = false
  /// Whether something ran for it when this was stored.
  package var isUnderWay = false
  /// What it waits for, where that does not follow from how the others stand: its next attempt, or
  /// something in its way.
  package var waitReason: WaitReason?
  /// When its next attempt is due, in seconds since 1970; nil unless it waits for that.
  package var retryAt: Double? {
    if case .retry(let time) = waitReason { time } else { nil }
  }

  package init() {}
}

/// What the queue must know of each member to decide: no request, no result.
package struct QueuedMember: Sendable, Hashable {
  package let id: TransferID
  package var storedState: StoredState
  package var host: String?
  package var group: String?
  package var identifier: String?
  /// Ids only: identifiers were looked up when it was added.
  package var after: [TransferID]
  package var whenDependencyFails: TransferRequest.DependencyPolicy
  package var isStep: Bool
  package var isIdempotent: Bool
  /// The file that is to be its own.
  package var target: TargetPath?

  package init(_ record: TransferRecord) {
    id = record.id
    target = record.request.exactTarget
    storedState = record.storedState
    host = record.request.host
    group = record.request.group
    identifier = record.request.identifier
    after = record.request.after.compactMap {
      if case .transfer(let id) = $0 { id } else { nil }
    }
    whenDependencyFails = record.request.whenDependencyFails
    if case .step(let step) = record.request.work {
      (isStep, isIdempotent) = (true, step.isIdempotent)
    } else {
      (isStep, isIdempotent) = (false, true)
    }
  }

  /// The same from its parts, without the record.
  package init(
    id: TransferID, storedState: StoredState, host: String?, group: String?, identifier: String?,
    after: [TransferID], whenDependencyFails: TransferRequest.DependencyPolicy, isStep: Bool,
    isIdempotent: Bool
  ) {
    self.id = id
    self.storedState = storedState
    self.host = host
    self.group = group
    self.identifier = identifier
    self.after = after
    self.whenDependencyFails = whenDependencyFails
    self.isStep = isStep
    self.isIdempotent = isIdempotent
  }
}

/// A state change as the log keeps it.
package struct StoredEvent: Sendable, Hashable {
  /// Rising by one, across restarts.
  package let number: Int
  package let id: TransferID
  package let kind: TransferEvent.Kind

  package init(number: Int, id: TransferID, kind: TransferEvent.Kind) {
    self.number = number
    self.id = id
    self.kind = kind
  }
}

/// The process that runs a step's program, or did when the last process of ours died.
package struct StoredProgram: Sendable, Hashable {
  package let id: TransferID
  package let process: ProcessIdentity

  package init(id: TransferID, process: ProcessIdentity) {
    self.id = id
    self.process = process
  }
}

/// What one command, or one batch of them, changes: stored as a whole or not at all.
package struct StoreChange: Sendable {
  package struct Update: Sendable, Hashable {
    package var id: TransferID
    package var storedState: StoredState
    /// The result to keep from now on; nil leaves what is there.
    package var result: TransferResult?
    /// The request to keep from now on; nil leaves what is there.
    package var request: TransferRequest? {
      get { if case .request(let request) = kept { request } else { nil } }
      set { kept = newValue.map { .request($0) } ?? .asItIs }
    }
    private var kept: Kept
    /// Whether rank and priority are as they were stored last, so that they need not be written.
    package var keepsPlace: Bool

    package init(
      id: TransferID, storedState: StoredState, result: TransferResult? = nil,
      request: TransferRequest? = nil, keepsPlace: Bool = false
    ) {
      self.id = id
      self.storedState = storedState
      self.result = result
      kept = request.map { .request($0) } ?? .asItIs
      self.keepsPlace = keepsPlace
    }

    /// Apart, as few updates have one, and those of many are copied often.
    private enum Kept: Hashable {
      case asItIs
      indirect case request(TransferRequest)
    }
  }

  /// With its key, the ids that an `add` made: the same call after a crash finds them.
  package struct Batch: Sendable, Hashable {
    package var key: String
    package var ids: [TransferID]

    package init(key: String, ids: [TransferID]) {
      self.key = key
      self.ids = ids
    }
  }

  package var added: [TransferRecord] = []
  package var updated: [Update] = []
  package var removed: [TransferID] = []
  /// Those that nobody comes after any more: they were completed, and are removed.
  package var satisfied: [TransferID] = []
  /// In order, their numbers following the last stored one.
  package var events: [StoredEvent] = []
  package var batch: Batch?
  /// Processes that are about to run for members. Each is kept until its member has another one, or
  /// is removed.
  package var programs: [StoredProgram] = []
  /// Where bytes lie from now on. Each is kept until its member has another one, or none, or is
  /// removed.
  package var locations: [StoredLocation] = []

  package init() {}

  package var isEmpty: Bool {
    added.isEmpty && updated.isEmpty && removed.isEmpty && satisfied.isEmpty && events.isEmpty
      && batch == nil && programs.isEmpty && locations.isEmpty
  }
}

/// Which records a page shows.
package struct RecordQuery: Sendable, Hashable {
  /// Nil: every one.
  package var statuses: Set<TransferStatus>?
  package var group: String?
  /// Only those behind this rank.
  package var afterRank: Int64?
  package var atMost: Int

  package init(
    statuses: Set<TransferStatus>? = nil, group: String? = nil, afterRank: Int64? = nil,
    atMost: Int = 100
  ) {
    self.statuses = statuses
    self.group = group
    self.afterRank = afterRank
    self.atMost = atMost
  }
}

/// Where the queue lives: owns what was asked for, never bytes on disk. One manager at a time has
/// it.
///
/// Calls come one after the other, but for reads, which may come at any time and see whole changes
/// only.
package protocol Store: Sendable {
  /// Whether what is stored outlives the process.
  var isDurable: Bool { get }
  /// Everything that decisions need. Called once, first.
  /// - Throws: `io`, when the store cannot be read.
  func open() async throws(TransferError) -> StoredQueue
  /// Makes the change as a whole; it survives a power cut when this returns, if the store is
  /// durable.
  ///
  /// First comes what is added, then updates, removals, and what is satisfied. Updates of unknown
  /// ids, removals, programs and places of them, do nothing. An id that is there already cannot be
  /// added, nor can two members have one identifier at any time.
  /// - Throws: `io`, `disk-full`; nothing has changed then.
  func commit(_ change: StoreChange) async throws(TransferError)
  /// The records of these ids, in the order of the ids; unknown ones are left out.
  /// - Throws: `io`.
  func records(_ ids: [TransferID]) async throws(TransferError) -> [TransferRecord]
  /// The records that a query asks for, in the order of their ranks.
  /// - Throws: `io`.
  func records(where query: RecordQuery) async throws(TransferError) -> [TransferRecord]
  /// The ids that an earlier batch of this key added; nil when there was none.
  /// - Throws: `io`.
  func batch(_ key: String) async throws(TransferError) -> [TransferID]?
  /// The events from this number on, at most so many; nil when the log does not reach back so far.
  /// - Throws: `io`.
  func events(from number: Int, atMost: Int) async throws(TransferError) -> [StoredEvent]?
  /// Lets go of it; a second call does nothing.
  func close() async
}
