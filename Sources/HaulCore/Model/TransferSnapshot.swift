/// The state of one transfer at one moment.
public struct TransferSnapshot: Sendable, Hashable {
  /// What the queue knows about it.
  public let summary: TransferSummary
  /// Its last reported phase; nil unless it runs.
  public let phase: TransferEvent.Phase?
  /// Its progress while it runs or is paused; nil until it is known, and after its end.
  public let progress: TransferProgress?
  /// Its result, once it has ended.
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

  /// Its state.
  public var state: TransferState { summary.state }
}

/// The state of a whole list at one moment.
public struct QueueSnapshot: Sendable, Hashable {
  /// The number of the newest state change that it includes; 0 before the first.
  public let number: Int
  /// In list order.
  public let transfers: [TransferSummary]

  package init(number: Int, transfers: [TransferSummary]) {
    self.number = number
    self.transfers = transfers
  }
}

/// An event of a whole list.
public enum QueueEvent: Sendable, Hashable {
  /// Something happened to one transfer.
  case transfer(TransferEvent)
  /// Everything reported before is obsolete. The snapshot is the present state; the next state
  /// change has the number after the snapshot's.
  case reset(QueueSnapshot)
}
