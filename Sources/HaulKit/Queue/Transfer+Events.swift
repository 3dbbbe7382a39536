public import HaulCore

extension Transfer {
  /// What happens to it: first how it stands (`.snapshot`), then every state change, once and in
  /// order, and the newest progress, up to its end (`.finished`), which is the last. Of one that
  /// has ended both are told at once.
  ///
  /// Ends without an end when the manager has shut down, or the transfer is not in the list. A
  /// subscriber that does not read for long gets another `.snapshot` in place of what it missed.
  public func events() -> TransferEvents {
    TransferEvents(source: .one(TransferFeed(of: id, identity, queue)))
  }

  /// Runs `body` once, when the transfer ends, in whichever way; at once when it has ended. Off the
  /// main actor, unless the closure is of the main actor itself.
  ///
  /// It does not run when the manager is shut down before the end, or the returned task is
  /// cancelled: then the task ends without it.
  @discardableResult
  public func onEnd(
    _ body: @escaping @Sendable (TransferResult) async -> Void
  ) -> Task<Void, Never> {
    Task { [self] in
      guard let result = try? await queue.end(of: id, orBlocked: false) else { return }
      await body(result)
    }
  }
}
