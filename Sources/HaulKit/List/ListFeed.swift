import HaulCore

/// Collects a manager's events off the main actor, and delivers them at most once a tick.
final class ListFeed: Sendable {
  private static let tick: Duration = .milliseconds(100)
  private let task: Task<Void, Never>

  /// - Parameter handOver: called with all changes since the last call.
  init(_ queue: QueueCoordinator, _ handOver: @escaping @Sendable (ListUpdate) async -> Void) {
    let feed = EventFeed(of: queue, from: .nothing)
    let (store, clock) = (queue.store, queue.engine.clock)
    task = Task { [weak queue] in
      var board = ListBoard()
      while true {
        let events = await feed.next(atMost: .max)
        guard !Task.isCancelled else { return }
        guard !events.isEmpty else { return await handOver(board.takeUpdate(isLast: true)) }
        await board.take(events, store)
        let until = clock.now + Self.tick
        let order = board.isMoved ? await queue?.ids(of: .all) : nil
        await handOver(board.takeUpdate(order: order))
        // Cut short when the list is gone: then there are no further events.
        try? await clock.sleep(until: until)
      }
    }
  }

  deinit { task.cancel() }
}

/// A change of the list for the main actor.
struct ListUpdate: Sendable {
  /// Whether it replaces everything known before.
  var isWhole = false
  var isLast = false
  /// New and changed rows, in order.
  var changed: [TransferList.Row] = []
  var removed: Set<TransferID> = []
  /// The order of the whole list, if it may have changed.
  var order: [TransferID]?
}
