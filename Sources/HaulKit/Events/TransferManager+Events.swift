public import HaulCore

extension TransferManager {
  /// Every event from now on, each once and in order; ends when the manager has shut down.
  ///
  /// A subscriber that stops reading loses progress and phases first. When it has missed more state changes than are kept, it
  /// gets a `.snapshot` of every transfer in the list in place of them, and what comes after.
  public nonisolated func events() -> TransferEvents {
    TransferEvents(source: .everything(EventFeed(of: self, from: .now, tellsEach: true)))
  }

  /// Every state change after the one of that number, then everything as it happens, without gap or repeat; also across
  /// restarts. Ends when the manager has shut down.
  ///
  /// Begins with `.reset`, and how everything stands, where the log of state changes does not reach back so far, or where
  /// the number is of another list. The log keeps 100,000 of them, of a list in memory 10,000.
  /// - Parameter number: that of the last event that is known; nil, when nothing is, begins with `.reset`.
  public nonisolated func events(after number: Int?) -> QueueEvents {
    let start = number.map { EventFeed.Start.after($0) } ?? .nothing
    return QueueEvents(feed: EventFeed(of: self, from: start))
  }

  /// How many events wait in memory for subscribers that have not read them.
  package nonisolated var heldEvents: Int { engine.hub.held }

  /// How everything stands, for a subscriber that goes on from there.
  func standing(for key: EventHub.Key) async -> QueueSnapshot {
    await turns.run {
      engine.hub.begin(key)
      return QueueSnapshot(number: queue.lastEvent, transfers: summaries())
    }
  }

  /// Has a subscriber read every state change after that number; false when there is no such number yet.
  func begin(_ key: EventHub.Key, after number: Int) async -> Bool {
    await turns.run {
      let last = queue.lastEvent
      guard number <= last else { return false }
      engine.hub.begin(key, missed: number < last ? number + 1...last : nil)
      return true
    }
  }

  /// How one transfer stands, and its end if it has ended, for a subscriber that goes on from there.
  func standing(of id: TransferID, for key: EventHub.Key) async -> [TransferEvent] {
    await turns.run {
      engine.hub.begin(key)
      guard let snapshot = await snapshotEvent(of: id) else { return [] }
      guard case .snapshot(let standing) = snapshot.kind, let result = standing.result
      else { return [snapshot] }
      return [
        snapshot,
        TransferEvent(number: nil, id: id, url: snapshot.url, kind: .finished(result)),
      ]
    }
  }

  /// How one transfer stands; nil when it is not in the list.
  func snapshot(of id: TransferID) async -> TransferSnapshot? {
    let event = await turns.run { await snapshotEvent(of: id) }
    guard case .snapshot(let snapshot)? = event?.kind else { return nil }
    return snapshot
  }

  /// How one transfer stands; nil when it is not in the list. For one whose turn it is.
  func snapshotEvent(of id: TransferID) async -> TransferEvent? {
    // A snapshot without its result is better than none.
    let record = (try? await store.records([id]))?.first
    guard let member = queue.members[id] else { return nil }
    let (phase, progress) = engine.hub.live(id)
    let result = member.end.map { state in
      record?.result.flatMap { $0.state == state ? $0 : nil } ?? TransferResult(state: state)
    }
    let snapshot = TransferSnapshot(
      summary: TransferSummary(member), phase: phase, progress: progress, result: result)
    return TransferEvent(
      number: nil, id: id, url: record?.request.download?.url, kind: .snapshot(snapshot))
  }
}

extension Transfer {
  /// What happens to it: first how it stands (`.snapshot`), then every state change, once and in order, and the newest
  /// progress, up to its end (`.finished`), which is the last. Of one that has ended both are told at once.
  ///
  /// Ends without an end when the manager has shut down, or the transfer is not in the list. A subscriber that does not read
  /// for long gets another `.snapshot` in place of what it missed.
  public func events() -> TransferEvents {
    TransferEvents(source: .one(TransferFeed(of: id, manager)))
  }

  /// Runs `body` once, when the transfer ends, in whichever way; at once when it has ended. Off the main actor, unless the
  /// closure is of the main actor itself.
  ///
  /// It does not run when the manager is shut down before the end, or the returned task is cancelled: then the task ends
  /// without it.
  @discardableResult
  public func onEnd(
    _ body: @escaping @Sendable (TransferResult) async -> Void
  ) -> Task<Void, Never> {
    Task { [self] in
      guard let result = await manager.end(of: id) else { return }
      await body(result)
    }
  }
}
