package import HaulCore

/// Named points where a test may watch, block, or end the process; the default does nothing.
package struct Hooks: Sendable {
  /// Before the recovered part is used.
  package var recovered: @Sendable (TransferID) async -> Void = { _ in }
  /// Before the verified file gets its name.
  package var willPublish: (@Sendable (TransferID) async -> Void)?
  /// Between two statements of a state change of the queue.
  package var passes: @Sendable (QueuePoint) -> Void = { _ in }

  package init() {}
}

/// Where a state change of the queue is.
package enum QueuePoint: String, CaseIterable, Sendable {
  /// The list was read from the store; nothing has been done with it.
  case read
  /// Decided, and nothing of it stored.
  case decided
  /// A part of it was written, and the whole is not stored.
  case storing
  /// Stored, and nobody has been told.
  case stored
  /// Told, and nothing of it done.
  case told
  /// One of the things to do was done.
  case acted
  /// All was done.
  case carriedOut
  /// A run was let begin, and has done nothing.
  case began
  /// A run has ended, and that is not noted.
  case ended
}
