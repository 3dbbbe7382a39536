public import HaulCore

/// Commands to handles, ids, arrays of these, and groups: as those to a `TransferSelection`.
extension TransferManager {
  /// `TransferCommand.pause`.
  public func pause(
    _ transfers: some TransferSelectable
  ) async throws(TransferError) -> CommandReport { try await pause(transfers.selection) }

  /// `TransferCommand.resume`.
  public func resume(
    _ transfers: some TransferSelectable
  ) async throws(TransferError) -> CommandReport { try await resume(transfers.selection) }

  /// `TransferCommand.cancel`.
  public func cancel(
    _ transfers: some TransferSelectable, keepingBytes: Bool = false
  ) async throws(TransferError) -> CommandReport {
    try await cancel(transfers.selection, keepingBytes: keepingBytes)
  }

  /// `TransferCommand.retry`.
  public func retry(
    _ transfers: some TransferSelectable
  ) async throws(TransferError) -> CommandReport { try await retry(transfers.selection) }

  /// `TransferCommand.restart`.
  public func restart(
    _ transfers: some TransferSelectable
  ) async throws(TransferError) -> CommandReport { try await restart(transfers.selection) }

  /// `TransferCommand.remove`.
  public func remove(
    _ transfers: some TransferSelectable
  ) async throws(TransferError) -> CommandReport { try await remove(transfers.selection) }

  /// `TransferCommand.start`.
  public func start(
    _ transfers: some TransferSelectable, force: Bool = false
  ) async throws(TransferError) -> CommandReport {
    try await start(transfers.selection, force: force)
  }

  /// `TransferCommand.move`.
  public func move(
    _ transfers: some TransferSelectable, to position: QueuePosition
  ) async throws(TransferError) -> CommandReport {
    try await move(transfers.selection, to: position)
  }

  /// `TransferCommand.setPriority`.
  public func setPriority(
    _ priority: TransferRequest.Priority, of transfers: some TransferSelectable
  ) async throws(TransferError) -> CommandReport {
    try await setPriority(priority, of: transfers.selection)
  }

  /// Changes their requests; see `set(_:_:)` of a selection.
  public func set(
    _ transfers: some TransferSelectable, _ change: @Sendable (inout TransferRequest) -> Void
  ) async throws(TransferError) -> CommandReport { try await set(transfers.selection, change) }

  /// The handles of transfers, as `transfers(of:)` of a selection.
  public func transfers(
    of transfers: some TransferSelectable
  ) async throws(TransferError) -> [Transfer] {
    try await self.transfers(of: transfers.selection)
  }
}
