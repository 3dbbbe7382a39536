package import HaulCore

/// Named points where a test may observe, block or end the process; by default they do nothing.
package struct Hooks: Sendable {
  /// Before the recovered part is used.
  package var recovered: @Sendable (TransferID) async -> Void = { _ in }
  /// Before the verified file is published.
  package var willPublish: (@Sendable (TransferID) async -> Void)?
  /// Between two statements of a state change of the queue.
  package var reached: @Sendable (CrashPoint) -> Void = { _ in }

  package init() {}
}

/// Where a state change of the queue is.
package enum CrashPoint: String, CaseIterable, Sendable {
  /// The list was read from the store; nothing was done with it yet.
  case read
  /// Decided; nothing is stored yet.
  case decided
  /// Partly written; not committed yet.
  case storing
  /// Stored; no event was emitted yet.
  case stored
  /// The events were emitted; no effect was performed yet.
  case eventsEmitted
  /// One of the effects was performed.
  case effectPerformed
  /// All effects were performed.
  case effectsPerformed
  /// A run was started and has done nothing yet.
  case began
  /// A run has ended; its end is not noted yet.
  case ended
}
