/// The durable state of a transfer; what it does right now is never stored.
public enum TransferStatus: String, Sendable, Hashable, Codable, CaseIterable {
  /// It waits for a slot, or runs.
  case queued
  /// It waits for `resume`.
  case paused
  /// It ended with an error.
  case failed
  /// It ended well.
  case completed
  /// It ended as somebody ordered that.
  case cancelled
}

/// What was last ordered of a transfer. Where the status differs, the order was not yet carried out
/// when the process died.
public enum Desired: String, Sendable, Hashable, Codable, CaseIterable {
  /// To go on until its end.
  case run
  /// To stop, and wait for `resume`.
  case paused
  /// To end, and its bytes to be deleted.
  case cancelled
  /// To end, and its bytes to stay.
  case cancelledKeepingBytes
  /// To be taken off the list.
  case removed
}

/// One transfer as it is stored.
public struct TransferRecord: Sendable, Hashable {
  /// Whose it is.
  public let id: TransferID
  /// What it is to do.
  public var request: TransferRequest
  /// How it stands.
  public var storedState: StoredState
  /// How it ended last, if it has.
  public var result: TransferResult?

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
  /// How it stands.
  public var status = TransferStatus.queued
  /// What was last ordered.
  public var desired = Desired.run
  /// Its place in the list.
  public var rank: Int64 = 0
  /// Its share of slots and of the rate.
  public var priority = TransferRequest.Priority.default
  /// Who paused it; nil unless it is paused, or is to be.
  public var pausedBy: TransferEvent.Initiator?
  /// Whether the next run forgets the bytes that are there.
  public var startsOver = false
  /// Whether it has run, so that there may be bytes.
  public var hasRun = false
  /// Whether something ran for it when this was stored.
  public var isUnderWay = false
  /// What it waits for, where that does not follow from how the others stand: its next attempt, or
  /// something in its way.
  public var waitReason: WaitReason?
  /// When its next attempt is due, in seconds since 1970; nil unless it waits for that.
  public var retryAt: Double? {
    if case .retry(let time) = waitReason { time } else { nil }
  }

  /// That of a transfer that was just added.
  public init() {}
}
