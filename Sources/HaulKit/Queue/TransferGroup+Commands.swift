public import HaulCore

extension TransferGroup {
  /// Every event of its members from this call on, as `TransferManager.events()`.
  public func events() -> TransferEvents {
    TransferEvents(source: .group(manager.feed(), name))
  }

  /// Runs `body` once with the result of each member, when `completion` returns: at once if every
  /// member has ended. It runs off the main actor, unless the closure is isolated to it.
  ///
  /// It does not run if the manager shuts down first, or the returned task is cancelled.
  @discardableResult
  public func onEnd(
    _ body: @escaping @Sendable ([TransferID: TransferResult]) async -> Void
  ) -> Task<Void, Never> {
    Task { [self] in
      guard let results = try? await completion() else { return }
      await body(results)
    }
  }
}

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
