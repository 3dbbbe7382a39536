public import HaulCore

extension TransferManager {
  /// Carries out a command for each transfer of a selection, in the order given or listed.
  ///
  /// A command on more than about 8,000 transfers is stored in portions; nothing new starts before
  /// the last one. After an error or a crash the portions before it have been changed, the others
  /// not. A command that throws could not be stored; of a single portion nothing has changed then.
  /// - Throws: `io`, `disk-full`.
  public func perform(
    _ command: TransferCommand, _ selection: TransferSelection,
    by initiator: TransferEvent.Initiator = .user
  ) async throws(TransferError) -> CommandReport {
    try await coordinator.perform(command, selection, by: initiator)
  }

  /// Pauses every transfer that has not ended, also when that cannot be stored.
  public func pauseAll(by initiator: TransferEvent.Initiator = .user) async {
    await coordinator.pauseAll(by: initiator)
  }

  /// Resumes every paused transfer.
  /// - Throws: as `perform`.
  public func resumeAll() async throws(TransferError) {
    _ = try await resume(.filter { $0.state == .paused || $0.state == .stopping })
  }

  /// Cancels every transfer that has not ended.
  /// - Throws: as `perform`.
  public func cancelAll() async throws(TransferError) {
    _ = try await cancel(.filter { !$0.state.isEnded })
  }
}

/// Each throws as `perform`.
extension TransferManager {
  /// `TransferCommand.pause`.
  public func pause(_ selection: TransferSelection) async throws(TransferError) -> CommandReport {
    try await perform(.pause, selection)
  }

  /// `TransferCommand.resume`.
  public func resume(_ selection: TransferSelection) async throws(TransferError) -> CommandReport {
    try await perform(.resume, selection)
  }

  /// `TransferCommand.requeue`.
  public func requeue(_ selection: TransferSelection) async throws(TransferError) -> CommandReport {
    try await perform(.requeue, selection)
  }

  /// `TransferCommand.cancel`.
  public func cancel(
    _ selection: TransferSelection, keepingBytes: Bool = false
  ) async throws(TransferError) -> CommandReport {
    try await perform(.cancel(keepingBytes: keepingBytes), selection)
  }

  /// `TransferCommand.retry`.
  public func retry(_ selection: TransferSelection) async throws(TransferError) -> CommandReport {
    try await perform(.retry, selection)
  }

  /// `TransferCommand.restart`.
  public func restart(_ selection: TransferSelection) async throws(TransferError) -> CommandReport {
    try await perform(.restart, selection)
  }

  /// `TransferCommand.remove`.
  public func remove(_ selection: TransferSelection) async throws(TransferError) -> CommandReport {
    try await perform(.remove, selection)
  }

  /// `TransferCommand.start`.
  public func start(
    _ selection: TransferSelection, force: Bool = false
  ) async throws(TransferError) -> CommandReport {
    try await perform(.start(force: force), selection)
  }

  /// `TransferCommand.move`.
  public func move(
    _ selection: TransferSelection, to position: QueuePosition
  ) async throws(TransferError) -> CommandReport {
    try await perform(.move(to: position), selection)
  }

  /// `TransferCommand.setPriority`.
  public func setPriority(
    _ priority: TransferRequest.Priority, of selection: TransferSelection
  ) async throws(TransferError) -> CommandReport {
    try await perform(.setPriority(priority), selection)
  }
}
