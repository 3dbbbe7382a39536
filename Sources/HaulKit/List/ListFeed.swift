import HaulCore

/// Gathers what a manager tells, off the main actor, and hands it over at most once a tick.
final class ListFeed: Sendable {
  private static let tick: Duration = .milliseconds(100)
  private let task: Task<Void, Never>

  /// - Parameter handOver: called with all that has changed since the last call.
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
        // Cut short when nobody has the list any more: then the next events are none.
        try? await clock.sleep(until: until)
      }
    }
  }

  deinit { task.cancel() }
}

/// What the main actor has to know.
struct ListUpdate: Sendable {
  /// Whether what it knew does not count any more.
  var isWhole = false
  var isLast = false
  /// Those that are new, in order, or are another.
  var changed: [TransferList.Row] = []
  var removed: Set<TransferID> = []
  /// Of all that are in the list, when it may be another.
  var order: [TransferID]?
}
