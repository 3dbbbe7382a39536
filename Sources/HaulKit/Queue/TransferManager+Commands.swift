public import HaulCore

/// What a command did not do.
public struct CommandReport: Sendable, Hashable {
  /// Those that stayed as they were, and why; those that were already so are not among them.
  public let refused: [TransferID: CommandRefusal]
}

/// A command on more than some eight thousand transfers is stored in portions, in the order in which they are given or listed.
/// Nothing new starts before the last one. When a portion cannot be stored the command throws, or when the program dies, those before
/// it have been changed, and the others not.
extension TransferManager {
  /// Pauses: the slot is free, and the next transfer starts, when the connections are closed and the bytes are claimed.
  /// Returns then; with strict durability the bytes survive a power cut.
  /// - Throws: `io`, `disk-full`: it could not be stored, and nothing was changed (of many: from some place on).
  @discardableResult
  public func pause(
    _ selection: TransferSelection, by origin: TransferEvent.Origin = .user
  ) async throws(TransferError) -> CommandReport {
    try await command(.pause, selection, by: origin)
  }

  /// Lets paused transfers go on from their bytes, each when a slot is free. One that is still stopping goes on after that.
  /// - Throws: `io`, `disk-full`: it could not be stored, and nothing was changed (of many: from some place on).
  @discardableResult
  public func resume(
    _ selection: TransferSelection, by origin: TransferEvent.Origin = .user
  ) async throws(TransferError) -> CommandReport {
    try await command(.resume, selection, by: origin)
  }

  /// Puts running and paused transfers back to waiting; bytes and places are kept.
  /// - Throws: `io`, `disk-full`: it could not be stored, and nothing was changed (of many: from some place on).
  @discardableResult
  public func requeue(
    _ selection: TransferSelection
  ) async throws(TransferError) -> CommandReport { try await command(.requeue, selection) }

  /// Cancels, from every state but completed; returns when nothing runs any more and the part files are gone. They stay
  /// listed.
  /// - Parameters:
  ///   - selection: which of them.
  ///   - keepingBytes: leaves the part files, for `retry` to go on from.
  /// - Throws: `io`, `disk-full`: it could not be stored, and nothing was changed (of many: from some place on).
  @discardableResult
  public func cancel(
    _ selection: TransferSelection, keepingBytes: Bool = false
  ) async throws(TransferError) -> CommandReport {
    try await command(keepingBytes ? .cancelKeepingBytes : .cancel, selection)
  }

  /// Puts failed and cancelled transfers back to waiting, in their old places; they go on from the bytes that are there.
  /// - Throws: `io`, `disk-full`: it could not be stored, and nothing was changed (of many: from some place on).
  @discardableResult
  public func retry(
    _ selection: TransferSelection
  ) async throws(TransferError) -> CommandReport { try await command(.retry, selection) }

  /// Begins again at byte 0, from every state, in the old places. A completed file stays until the new one is whole.
  /// - Throws: `io`, `disk-full`: it could not be stored, and nothing was changed (of many: from some place on).
  @discardableResult
  public func restart(
    _ selection: TransferSelection
  ) async throws(TransferError) -> CommandReport { try await command(.restart, selection) }

  /// Takes transfers off the list; what has not ended is cancelled first. Finished files stay.
  /// - Throws: `io`, `disk-full`: it could not be stored, and nothing was changed (of many: from some place on).
  @discardableResult
  public func remove(
    _ selection: TransferSelection
  ) async throws(TransferError) -> CommandReport { try await command(.remove, selection) }

  /// Has waiting and paused transfers go before all others, within the limits.
  /// - Parameters:
  ///   - selection: which of them.
  ///   - force: also beyond the limits, and outside of the timetable.
  /// - Throws: `io`, `disk-full`: it could not be stored, and nothing was changed (of many: from some place on).
  @discardableResult
  public func start(
    _ selection: TransferSelection, force: Bool = false
  ) async throws(TransferError) -> CommandReport {
    try await command(force ? .force : .start, selection)
  }

  /// Moves transfers next to each other, in the order given or listed; running ones too. Order counts within a priority.
  /// - Throws: `io`, `disk-full`: it could not be stored, and nothing was changed.
  /// - Complexity: O(members of the list) for a place beside another, else O(moved).
  public func move(
    _ selection: TransferSelection, to place: QueuePlace
  ) async throws(TransferError) {
    try await carryOut { (decision) throws(TransferError) in
      queue.move(ids(of: selection), to: place, &decision)
    }
  }

  /// As `move(_:to:)` of a selection.
  /// - Throws: `io`, `disk-full`: it could not be stored, and nothing was changed.
  public func move(
    _ transfers: [TransferID], to place: QueuePlace
  ) async throws(TransferError) { try await move(.ids(transfers), to: place) }

  /// Gives transfers another share of the slots.
  /// - Throws: `io`, `disk-full`: it could not be stored, and nothing was changed (of many: from some place on).
  public func setPriority(
    _ priority: Priority, of selection: TransferSelection
  ) async throws(TransferError) {
    try await carryOut(inPortions: ids(of: selection)) { some, _, decision in
      queue.set(priority, of: some, &decision)
    }
    await startWhatMay()
  }

  /// Pauses everything that has not ended, also when that cannot be stored.
  public func pauseAll(by origin: TransferEvent.Origin = .user) async {
    do {
      try await pause(.all, by: origin)
    } catch {
      engine.log(error)
      for id in runs.keys.sorted() { runs[id]?.context.send(.pause) }
    }
  }

  /// Nothing new starts until `unsuspend`; what runs, runs on.
  public func suspend() { engine.slots.update { $0.isSuspended = true } }

  /// Starts again what may.
  public func unsuspend() async {
    engine.slots.update { $0.isSuspended = false }
    await startWhatMay()
  }

  private func command(
    _ command: TransferMachine.Command, _ selection: TransferSelection,
    by origin: TransferEvent.Origin = .user
  ) async throws(TransferError) -> CommandReport {
    let ids = ids(of: selection)
    var refused: [TransferID: CommandRefusal] = [:]
    try await carryOut(inPortions: ids) { some, isLast, decision in
      let refusals = queue.handle(command, some, by: origin, isLast: isLast, &decision)
      refused.merge(refusals) { $1 }
    }
    await startWhatMay()
    for id in ids where command.isCarriedOutWhenStopped {
      if case .stopping = queue.members.state(of: id) { await stopped(id) }
    }
    return CommandReport(refused: refused)
  }

  /// Until nothing is being stopped; the one that waits stops when it goes on.
  private func stopped(_ id: TransferID) async {
    while id != OwnTransfer.id, case .stopping = queue.members.state(of: id), !Task.isCancelled,
      !isShutDown || runs[id] != nil
    {
      _ = await waits.stopped.valueUnlessCancelled(for: id)
    }
  }

  /// In the order of the list.
  func ids(of selection: TransferSelection) -> [TransferID] {
    switch selection {
    case .ids(let ids): ids
    case .all: inOrder(queue.members.ranks)
    case .group(let group): inOrder { $0.facts.group == group }
    case .filter(let takes): inOrder { takes(TransferSummary($0)) }
    }
  }

  private func inOrder(_ takes: (QueueMachine.Member) -> Bool) -> [TransferID] {
    inOrder(queue.members.values.filter(takes).map { ($0.facts.standing.rank, $0.facts.id) })
  }

  private func inOrder(
    _ members: some Sequence<(rank: Int64, id: TransferID)>
  ) -> [TransferID] {
    members.sorted { $0 < $1 }.map(\.id)
  }
}

extension TransferMachine.Command {
  /// Whether the sender waits until what runs has stopped.
  fileprivate var isCarriedOutWhenStopped: Bool {
    switch self {
    case .pause, .cancel, .cancelKeepingBytes, .remove: true
    case .resume, .requeue, .retry, .restart, .start, .force: false
    }
  }
}
