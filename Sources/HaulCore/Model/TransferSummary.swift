/// What the queue knows about a transfer without reading its store. Names and addresses are in the
/// store: `TransferManager.rows(of:)` has them.
public struct TransferSummary: Sendable, Hashable, Identifiable {
  /// The transfer.
  public let id: TransferID
  /// Its state.
  public let state: TransferState
  /// Its share of the slots.
  public let priority: TransferRequest.Priority
  /// The group that it belongs to.
  public let group: String?
  /// The caller's name for it.
  public let identifier: String?
  /// The host that it transfers from; nil for a step.
  public let host: String?
  /// Why it does not run, while it is queued or between two attempts; nil if nothing prevents its
  /// start.
  public let waitReason: WaitReason?

  package init(
    _ member: QueuedMember, _ state: TransferState? = nil, waitReason: WaitReason?
  ) {
    id = member.id
    self.state = state ?? TransferState(member)
    priority = member.storedState.priority
    group = member.group
    identifier = member.identifier
    host = member.host
    self.waitReason = waitReason
  }
}

/// The state of a transfer in the queue.
public enum TransferState: String, Sendable, Hashable, CaseIterable, Codable {
  /// It starts, or makes its next attempt, when it has a slot and no wait reason.
  case queued
  /// It holds a slot.
  case running
  /// All its bytes are on disk, and it waits for the disk to publish its file. It holds no slot.
  case publishing
  /// It is being paused, cancelled or removed, and its connections are being closed.
  case stopping
  case paused, failed, completed, cancelled

  package init(_ member: QueuedMember) {
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

  /// Whether it has ended; only `retry` and `restart` start it again.
  public var isEnded: Bool { self == .failed || self == .completed || self == .cancelled }
}

extension TransferState: CustomStringConvertible {
  /// The raw value.
  public var description: String { rawValue }
}

extension TransferResult.State {
  /// The state that a transfer with this end has in a list.
  package var ofList: TransferState {
    switch self {
    case .completed: .completed
    case .failed: .failed
    case .cancelled: .cancelled
    }
  }
}
