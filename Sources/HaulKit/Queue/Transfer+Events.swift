public import HaulCore

extension Transfer {
  /// Its state at this call (`.snapshot`), then every state change, once and in order, and the
  /// newest progress. The last event is its end (`.finished`). A transfer that has ended sends only
  /// the snapshot and the end.
  ///
  /// A subscriber that reads late misses nothing. When a download completes, it gets 100 % once,
  /// before the end.
  ///
  /// The sequence ends without `.finished` when the manager shuts down or the transfer is not in
  /// the list. A subscriber that reads too slowly gets another `.snapshot` in place of missed
  /// events.
  public func events() -> TransferEvents {
    TransferEvents(source: .one(TransferFeed(of: id, identity, manager.coordinator)))
  }

  /// Runs `body` once when the transfer ends, in any way; at once if it has ended. It runs off the
  /// main actor, unless the closure is isolated to the main actor.
  ///
  /// It does not run if the manager shuts down first, or the returned task is cancelled: then the
  /// task ends without it.
  @discardableResult
  public func onEnd(
    _ body: @escaping @Sendable (TransferResult) async -> Void
  ) -> Task<Void, Never> {
    Task { [self] in
      guard let result = try? await manager.coordinator.end(of: id, orBlocked: false) else {
        return
      }
      await body(result)
    }
  }
}
