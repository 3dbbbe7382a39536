public import HaulCore

/// What can be told to transfers of a list, in every state that they may be in.
public enum TransferCommand: Hashable, Sendable {
  /// Pauses, and returns when connections are closed and bytes claimed: with strict durability they
  /// survive a power cut. A program that is not idempotent runs to its end, for which nobody waits.
  case pause
  /// Queues paused transfers again; each continues from its bytes when a slot is free. One that is
  /// still stopping is queued when it has stopped.
  case resume
  /// Queues running and paused transfers; their bytes and places in the list are kept.
  case requeue
  /// Cancels in every state but completed, and returns when nothing runs and the part files are
  /// deleted, or kept: from kept ones `retry` continues. Cancelled transfers stay in the list.
  case cancel(keepingBytes: Bool = false)
  /// Queues failed and cancelled transfers again, in their old places; they continue from the bytes
  /// on disk.
  case retry
  /// Begins again at byte 0, in every state, in the old places. A completed file stays until the
  /// new one is whole.
  case restart
  /// Removes transfers from the list; cancels first those that have not ended. Finished files stay.
  case remove
  /// Starts waiting and paused transfers before all others, within the limits; by force also beyond
  /// them and outside of the schedule. One that waits for its next attempt makes it now, unless the
  /// server asked for the delay (`Retry-After`).
  case start(force: Bool = false)
  /// Moves transfers next to each other, in the order given or listed, also while they run. Order
  /// counts within a priority. O(members of the list) for a place beside another, else O(moved).
  case move(to: QueuePosition)
  /// Changes their share of the slots and of the rate limit.
  case setPriority(TransferRequest.Priority)
}

/// Transfers that take commands: one, or the members of a group. Each command is stored when it
/// returns.
public protocol CommandReceiver: Sendable {
  /// What a command reports: nothing for one transfer, for which a refusal is an error.
  associatedtype Report: Sendable

  /// Carries out a command.
  /// - Throws: `io`, `disk-full`; for one transfer `refused`, with a `refusal` that says why; for
  ///   one of the daemon `connect` when it is not running.
  @discardableResult
  func perform(_ command: TransferCommand) async throws(TransferError) -> Report
}

/// Each throws as `perform`.
extension CommandReceiver {
  /// `TransferCommand.pause`.
  @discardableResult
  public func pause() async throws(TransferError) -> Report { try await perform(.pause) }

  /// `TransferCommand.resume`.
  @discardableResult
  public func resume() async throws(TransferError) -> Report { try await perform(.resume) }

  /// `TransferCommand.requeue`.
  @discardableResult
  public func requeue() async throws(TransferError) -> Report { try await perform(.requeue) }

  /// `TransferCommand.cancel`.
  @discardableResult
  public func cancel(keepingBytes: Bool = false) async throws(TransferError) -> Report {
    try await perform(.cancel(keepingBytes: keepingBytes))
  }

  /// `TransferCommand.retry`.
  @discardableResult
  public func retry() async throws(TransferError) -> Report { try await perform(.retry) }

  /// `TransferCommand.restart`.
  @discardableResult
  public func restart() async throws(TransferError) -> Report { try await perform(.restart) }

  /// `TransferCommand.remove`.
  @discardableResult
  public func remove() async throws(TransferError) -> Report { try await perform(.remove) }

  /// `TransferCommand.start`.
  @discardableResult
  public func start(force: Bool = false) async throws(TransferError) -> Report {
    try await perform(.start(force: force))
  }

  /// `TransferCommand.move`.
  @discardableResult
  public func move(to position: QueuePosition) async throws(TransferError) -> Report {
    try await perform(.move(to: position))
  }

  /// `TransferCommand.setPriority`.
  @discardableResult
  public func setPriority(
    _ priority: TransferRequest.Priority
  ) async throws(TransferError) -> Report { try await perform(.setPriority(priority)) }
}
