/// The durable state of a transfer. What it is doing at a moment is not stored.
public enum StoredStatus: String, Sendable, Hashable, Codable, CaseIterable {
  /// It waits for a slot, or runs.
  case queued
  /// It waits for `resume`.
  case paused
  /// It ended with an error.
  case failed
  /// It ended without an error.
  case completed
  /// It ended by a command.
  case cancelled
}

/// The last command for a transfer. If the status differs, the command was not yet carried out when
/// the process died.
public enum DesiredState: String, Sendable, Hashable, Codable, CaseIterable {
  /// Run until its end.
  case run
  /// Stop, and wait for `resume`.
  case paused
  /// End, and delete its bytes.
  case cancelled
  /// End, and keep its bytes.
  case cancelledKeepingBytes
  /// Leave the list.
  case removed
}

/// A command to start a waiting transfer before others. It counts, also for retries and after a
/// restart of the program, until the transfer ends, is paused or requeued, or must stop for the
/// schedule.
public struct StartRequest: Sendable, Hashable {
  /// Its place among these commands: the lowest goes first. Positive.
  public var number: Int64
  /// Whether the transfer starts beyond the limits.
  public var isForced: Bool

  /// A command with that number.
  public init(number: Int64, isForced: Bool) {
    self.number = number
    self.isForced = isForced
  }
}

/// One transfer as it is stored.
public struct TransferRecord: Sendable, Hashable {
  /// The transfer.
  public let id: TransferID
  /// What to do.
  public var request: TransferRequest
  /// Its state.
  public var storedState: StoredState
  /// Its last result, if it has ended.
  public var result: TransferResult?
  /// When it was added, and when the last result was stored, in seconds since 1970; nil if that is
  /// unknown.
  package var added: Double?
  package var ended: Double?

  /// A record of these parts.
  public init(
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
public struct StoredState: Sendable, Hashable {
  /// Its status.
  public var status = StoredStatus.queued
  /// The last command.
  public var desired = DesiredState.run
  /// Its position in the list.
  public var rank: Int64 = 0
  /// Its share of slots and of the rate.
  public var priority = TransferRequest.Priority.default
  /// The origin of its pause; nil unless it is paused or being paused.
  public var pausedBy: TransferEvent.Initiator?
  /// Whether the next run discards the bytes on disk.
  public var restartsFromZero = false
  /// Whether it has run, so that there may be bytes on disk.
  public var hasRun = false
  /// Whether it was running when this was stored.
  public var wasRunning = false
  /// Why it waits, unless that follows from other transfers: its next attempt, or an obstacle such
  /// as a full disk.
  public var waitReason: WaitReason?
  /// The command that puts it before others; nil for none.
  public var startRequest: StartRequest?
  /// When its next attempt is due, in seconds since 1970; nil unless it waits for one.
  public var retryAt: Double? {
    if case .retry(let time) = waitReason { time } else { nil }
  }

  /// The end of the pause that its host asked for, in seconds since 1970; nil if it asked for none.
  package var hostPause: Double? {
    if case .hostBackOff(let until) = waitReason { until } else { nil }
  }

  /// When it may start, in seconds since 1970; nil unless it waits for that time, or will when it
  /// is queued again.
  package var startTime: Double? {
    if case .startTime(let time) = waitReason { time } else { nil }
  }

  /// `startTime`; nil if a command started it before that time.
  package var pendingStartTime: Double? { startRequest == nil ? startTime : nil }

  /// The state of a transfer that was just added.
  public init() {}
}
