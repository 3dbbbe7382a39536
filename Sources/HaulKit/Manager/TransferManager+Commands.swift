public import HaulCore

/// A command on more than about 8,000 transfers is stored in portions, in the order given or
/// listed; nothing new starts before the last one. After an error or a crash the portions before it
/// have been changed and the others have not. A command that throws `io` or `disk-full` could not
/// be stored; with a single portion nothing has changed then.
extension TransferManager {
  /// Pauses, and returns when connections are closed and bytes claimed: with strict durability they
  /// survive a power cut. A program that is not idempotent runs to its end, for which nobody waits.
  /// - Throws: `io`, `disk-full`.
  public func pause(
    _ selection: TransferSelection, by initiator: TransferEvent.Initiator = .user
  ) async throws(TransferError) -> CommandReport {
    try await coordinator.command(.pause, selection, by: initiator)
  }

  /// Queues paused transfers again; each continues from its bytes when a slot is free. One that is
  /// still stopping is queued when it has stopped.
  /// - Throws: `io`, `disk-full`.
  public func resume(
    _ selection: TransferSelection, by initiator: TransferEvent.Initiator = .user
  ) async throws(TransferError) -> CommandReport {
    try await coordinator.command(.resume, selection, by: initiator)
  }

  /// Queues running and paused transfers; their bytes and places in the list are kept.
  /// - Throws: `io`, `disk-full`.
  public func requeue(_ selection: TransferSelection) async throws(TransferError) -> CommandReport {
    try await coordinator.command(.requeue, selection)
  }

  /// Cancels in every state but completed, and returns when nothing runs and the part files are
  /// deleted. Cancelled transfers stay in the list.
  /// - Parameters:
  ///   - selection: which transfers.
  ///   - keepingBytes: keeps the part files, from which `retry` continues.
  /// - Throws: `io`, `disk-full`.
  public func cancel(
    _ selection: TransferSelection, keepingBytes: Bool = false
  ) async throws(TransferError) -> CommandReport {
    try await coordinator.command(keepingBytes ? .cancelKeepingBytes : .cancel, selection)
  }

  /// Queues failed and cancelled transfers again, in their old places; they continue from the bytes
  /// on disk.
  /// - Throws: `io`, `disk-full`.
  public func retry(_ selection: TransferSelection) async throws(TransferError) -> CommandReport {
    try await coordinator.command(.retry, selection)
  }

  /// Begins again at byte 0, in every state, in the old places. A completed file stays until the
  /// new one is whole.
  /// - Throws: `io`, `disk-full`.
  public func restart(_ selection: TransferSelection) async throws(TransferError) -> CommandReport {
    try await coordinator.command(.restart, selection)
  }

  /// Removes transfers from the list; cancels first those that have not ended. Finished files stay.
  /// - Throws: `io`, `disk-full`.
  public func remove(_ selection: TransferSelection) async throws(TransferError) -> CommandReport {
    try await coordinator.command(.remove, selection)
  }

  /// Starts waiting and paused transfers before all others, within the limits. One that waits for
  /// its next attempt makes it now, unless the server asked for the delay (`Retry-After`).
  /// - Parameters:
  ///   - selection: which transfers.
  ///   - force: also beyond the limits and outside of the schedule.
  /// - Throws: `io`, `disk-full`.
  public func start(
    _ selection: TransferSelection, force: Bool = false
  ) async throws(TransferError) -> CommandReport {
    try await coordinator.command(force ? .force : .start, selection)
  }

  /// Moves transfers next to each other, in the order given or listed, also while they run.
  /// Order counts within a priority.
  /// - Throws: `io`, `disk-full`: it could not be stored, and nothing has changed.
  /// - Complexity: O(members of the list) for a position beside another, else O(moved).
  public func move(
    _ selection: TransferSelection, to position: QueuePosition
  ) async throws(TransferError) -> CommandReport {
    try await coordinator.move(selection, to: position)
  }

  /// Changes the priority of transfers, and so their share of the slots and of the rate limit.
  /// - Throws: `io`, `disk-full`.
  public func setPriority(
    _ priority: TransferRequest.Priority, of selection: TransferSelection
  ) async throws(TransferError) -> CommandReport {
    try await coordinator.setPriority(priority, of: selection)
  }

  /// Pauses every transfer that has not ended, also when that cannot be stored.
  public func pauseAll(by initiator: TransferEvent.Initiator = .user) async {
    await coordinator.pauseAll(by: initiator)
  }
}
