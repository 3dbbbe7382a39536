package import HaulCore

/// Named points where a test may observe, block or end the process; by default they do nothing.
package struct Hooks: Sendable {
  /// Before the recovered part is used.
  package var recovered: @Sendable (TransferID) async -> Void = { _ in }
  /// Before the verified file is published.
  package var willPublish: (@Sendable (TransferID) async -> Void)?
  /// Between two statements of a state change of the queue.
  package var passes: @Sendable (QueuePoint) -> Void = { _ in }

  package init() {}
}

/// Where a state change of the queue is.
package enum QueuePoint: String, CaseIterable, Sendable {
  /// The list was read from the store; nothing has been done with it.
  case read
  /// Decided; nothing of it is stored.
  case decided
  /// A part of it was written; the whole is not stored.
  case storing
  /// Stored; no event has been emitted.
  case stored
  /// Events emitted; no effect performed.
  case told
  /// One of the effects was performed.
  case acted
  /// All effects were performed.
  case carriedOut
  /// A run was started and has done nothing yet.
  case began
  /// A run has ended, and its end is not noted yet.
  case ended
}
