/// How one transfer stands at one moment.
public struct TransferSnapshot: Sendable, Hashable {
  /// What the queue knows of it.
  public let summary: TransferSummary
  /// What it was last seen doing; nil unless it runs.
  public let phase: TransferEvent.Phase?
  /// How far it is, while it runs or is paused; nil before that is known, and once it has ended.
  public let progress: TransferProgress?
  /// How it ended, once it has.
  public let result: TransferResult?

  package init(
    summary: TransferSummary, phase: TransferEvent.Phase? = nil, progress: TransferProgress? = nil,
    result: TransferResult? = nil
  ) {
    self.summary = summary
    self.phase = phase
    self.progress = progress
    self.result = result
  }

  /// Where it stands.
  public var state: TransferState { summary.state }
}

/// How everything in a list stands at one moment.
public struct QueueSnapshot: Sendable, Hashable {
  /// The number of the newest state change that it contains; 0 before the first.
  public let number: Int
  /// In the order of the list.
  public let transfers: [TransferSummary]

  package init(number: Int, transfers: [TransferSummary]) {
    self.number = number
    self.transfers = transfers
  }
}

/// What one who follows a whole list is told.
public enum QueueEvent: Sendable, Hashable {
  /// Something happened to one transfer.
  case transfer(TransferEvent)
  /// What was told before does not count any more: this is how everything stands, and the next
  /// state change has the number that follows the snapshot's.
  case reset(QueueSnapshot)
}
