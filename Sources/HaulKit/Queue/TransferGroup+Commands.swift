public import HaulCore

/// Commands to all members.
extension TransferGroup: CommandReceiver {
  /// Carries out a command for each member.
  /// - Throws: `io`, `disk-full`.
  @discardableResult
  public func perform(_ command: TransferCommand) async throws(TransferError) -> CommandReport {
    try await manager.perform(command, selection)
  }

  /// As `TransferManager.set`, for each member.
  /// - Throws: as `TransferManager.set`; the members before the failing one stay changed.
  public func set(
    _ change: @Sendable (inout TransferRequest) -> Void
  ) async throws(TransferError) -> CommandReport { try await manager.set(selection, change) }
}
