public import HaulCore

extension TransferManager {
  /// Changes what a transfer is to do: a new address for an expired link, its priority, what comes before it, the rules of its next
  /// run. One that has ended stays as it is until `retry` or `restart`.
  ///
  /// Identifier and group stay. Once something has run for it its bytes stay too: they are believed only if the new address
  /// proves to be of the same version, and where they are to go cannot be changed, nor the address where the name comes from it.
  /// - Parameters:
  ///   - id: one for which nothing runs; pause it first.
  ///   - change: makes the new request from the present one. Dependencies are there by their ids; those that were completed and
  ///     taken off the list are not.
  /// - Returns: why it stays as it is: `isRunning`, or `isUnknown`; nil when it is changed, and stored.
  /// - Throws: `dependency-failed` when it would come after something unknown, or after itself by way of others, who are named;
  ///   `bad-name` for a path with a NUL; `internal` when what stays would change; `io`, `disk-full`. Nothing has changed then.
  @discardableResult
  public func set(
    _ id: TransferID, _ change: @Sendable (inout TransferRequest) -> Void
  ) async throws(TransferError) -> CommandRefusal? {
    let refusal = try await turns.run { () async throws(TransferError) -> CommandRefusal? in
      guard let record = try await store.records([id]).first, let member = queue.members[id]
      else { return .isUnknown }
      var request = record.request
      request.priority = member.facts.standing.priority
      change(&request)
      request = try checked([request])[0]
      let names = (record.request.download?.target, request.download?.target)
      let refusal = try await carryOutNow { (decision) throws(TransferError) in
        try queue.set(request, of: record, names: names, &decision)
      }
      if refusal == nil, let event = await snapshotEvent(of: id) { engine.hub.publish([event]) }
      return refusal
    }
    await startWhatMay()
    return refusal
  }

  /// As `set` of one, for each of them by itself, in the order of the list.
  /// - Throws: as `set` of one; those before it have been changed then.
  @discardableResult
  public func set(
    _ selection: TransferSelection, _ change: @Sendable (inout TransferRequest) -> Void
  ) async throws(TransferError) -> CommandReport {
    var refused: [TransferID: CommandRefusal] = [:]
    for id in ids(of: selection) { refused[id] = try await set(id, change) }
    return CommandReport(refused: refused)
  }
}

extension Transfer {
  /// As `TransferManager.set`. This handle keeps the address that it was made with.
  /// - Throws: as `TransferManager.set`.
  @discardableResult
  public func set(
    _ change: @Sendable (inout TransferRequest) -> Void
  ) async throws(TransferError) -> CommandRefusal? { try await manager.set(id, change) }

  /// As `TransferManager.setPriority`.
  /// - Throws: `io`, `disk-full`.
  public func setPriority(_ priority: Priority) async throws(TransferError) {
    try await manager.setPriority(priority, of: .ids([id]))
  }

  /// As `TransferManager.move`.
  /// - Throws: `io`, `disk-full`.
  public func move(to place: QueuePlace) async throws(TransferError) {
    try await manager.move(.ids([id]), to: place)
  }
}

extension TransferGroup {
  /// As `TransferManager.set`, for each member.
  /// - Throws: as `TransferManager.set`; those before it have been changed then.
  @discardableResult
  public func set(
    _ change: @Sendable (inout TransferRequest) -> Void
  ) async throws(TransferError) -> CommandReport { try await manager.set(selection, change) }

  /// As `TransferManager.setPriority`.
  /// - Throws: `io`, `disk-full`.
  public func setPriority(_ priority: Priority) async throws(TransferError) {
    try await manager.setPriority(priority, of: selection)
  }

  /// As `TransferManager.move`: the members in their order, next to each other.
  /// - Throws: `io`, `disk-full`.
  public func move(to place: QueuePlace) async throws(TransferError) {
    try await manager.move(selection, to: place)
  }
}
