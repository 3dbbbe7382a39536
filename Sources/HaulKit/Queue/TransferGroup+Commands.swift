public import HaulCore

/// Commands to all members.
extension TransferGroup {
  /// As `TransferManager.pause`.
  /// - Throws: `io`, `disk-full`.
  public func pause() async throws(TransferError) -> CommandReport {
    try await manager.pause(selection)
  }

  /// As `TransferManager.resume`.
  /// - Throws: `io`, `disk-full`.
  public func resume() async throws(TransferError) -> CommandReport {
    try await manager.resume(selection)
  }

  /// As `TransferManager.requeue`.
  /// - Throws: `io`, `disk-full`.
  public func requeue() async throws(TransferError) -> CommandReport {
    try await manager.requeue(selection)
  }

  /// As `TransferManager.cancel`.
  /// - Throws: `io`, `disk-full`.
  public func cancel(keepingBytes: Bool = false) async throws(TransferError) -> CommandReport {
    try await manager.cancel(selection, keepingBytes: keepingBytes)
  }

  /// As `TransferManager.retry`.
  /// - Throws: `io`, `disk-full`.
  public func retry() async throws(TransferError) -> CommandReport {
    try await manager.retry(selection)
  }

  /// As `TransferManager.restart`.
  /// - Throws: `io`, `disk-full`.
  public func restart() async throws(TransferError) -> CommandReport {
    try await manager.restart(selection)
  }

  /// As `TransferManager.remove`.
  /// - Throws: `io`, `disk-full`.
  public func remove() async throws(TransferError) -> CommandReport {
    try await manager.remove(selection)
  }

  /// As `TransferManager.start`.
  /// - Throws: `io`, `disk-full`.
  public func start(force: Bool = false) async throws(TransferError) -> CommandReport {
    try await manager.start(selection, force: force)
  }
}

extension TransferGroup {
  /// As `TransferManager.set`, for each member.
  /// - Throws: as `TransferManager.set`; the members before the failing one stay changed.
  public func set(
    _ change: @Sendable (inout TransferRequest) -> Void
  ) async throws(TransferError) -> CommandReport { try await manager.set(selection, change) }

  /// As `TransferManager.setPriority`.
  /// - Throws: `io`, `disk-full`.
  public func setPriority(
    _ priority: TransferRequest.Priority
  ) async throws(TransferError) -> CommandReport {
    try await manager.setPriority(priority, of: selection)
  }

  /// As `TransferManager.move`: the members stay in their order, next to each other.
  /// - Throws: `io`, `disk-full`.
  public func move(to position: QueuePosition) async throws(TransferError) -> CommandReport {
    try await manager.move(selection, to: position)
  }
}
