/// What the queue knows of a transfer without asking its store.
public struct TransferSummary: Sendable, Hashable, Identifiable {
  /// The transfer.
  public let id: TransferID
  /// Where it stands.
  public let state: TransferState
  /// Its share of the slots.
  public let priority: TransferRequest.Priority
  /// The group that it belongs to.
  public let group: String?
  /// The caller's name for it.
  public let identifier: String?
  /// The host that it transfers from; nil for a step.
  public let host: String?
  /// Why it does not run, while it is queued or between two attempts; nil when nothing keeps it
  /// from starting.
  public let waitReason: WaitReason?

  package init(
    _ member: QueueMachine.Member, _ state: TransferState? = nil, waitReason: WaitReason?
  ) {
    id = member.facts.id
    self.state = state ?? TransferState(member)
    priority = member.facts.storedState.priority
    group = member.facts.group
    identifier = member.facts.identifier
    host = member.facts.host
    self.waitReason = waitReason
  }
}

/// Where a transfer stands in the queue.
public enum TransferState: String, Sendable, Hashable, CaseIterable {
  /// It starts by itself, or makes its next attempt, when there is a slot and nothing else that it
  /// waits for.
  case queued
  /// It holds a slot.
  case running
  /// All its bytes are there, and it waits for the disk to give its file the final name. It holds
  /// no slot.
  case publishing
  /// It was ordered to pause, to be cancelled or to be removed, and its connections are being
  /// closed.
  case stopping
  case paused, failed, completed, cancelled

  package init(_ member: QueueMachine.Member) {
    self =
      switch member.state {
      case .queued: .queued
      case .running: .running
      case .stopping, .removed: .stopping
      case .paused: .paused
      case .failed: .failed
      case .completed: .completed
      case .cancelled: .cancelled
      }
  }

  /// Whether it has ended; only `retry` and `restart` begin again.
  public var isEnded: Bool { self == .failed || self == .completed || self == .cancelled }
}
