import HaulCore

/// Collects a manager's events off the main actor, and delivers them at most once every 100 ms.
final class ListFeed: Sendable {
  private static let tick: Duration = .milliseconds(100)
  private let task: Task<Void, Never>

  /// - Parameters:
  ///   - group: nil for the whole list.
  ///   - deliver: called with all changes since the last call.
  init(
    _ coordinator: QueueCoordinator, group: String?,
    _ deliver: @escaping @Sendable (ListUpdate) async -> Void
  ) {
    let feed = EventFeed(of: coordinator, from: .nothing)
    let (store, clock) = (coordinator.store, coordinator.engine.clock)
    let selection = group.map { TransferSelection.group($0) } ?? .all
    task = Task { [weak coordinator] in
      var model = ListModel(group: group)
      while true {
        let events = await feed.next(atMost: .max)
        guard !Task.isCancelled else { return }
        guard !events.isEmpty else { return await deliver(model.takeUpdate(isLast: true)) }
        await model.apply(events, store)
        let until = clock.now + Self.tick
        let order = model.mayHaveNewOrder ? await coordinator?.ids(of: selection) : nil
        await deliver(model.takeUpdate(order: order))
        // The sleep ends early when the list is released: then there are no further events.
        try? await clock.sleep(until: until)
      }
    }
  }

  deinit { task.cancel() }
}

/// A change of the list for the main actor.
struct ListUpdate: Sendable {
  /// Whether it replaces everything known before.
  var isReset = false
  var isLast = false
  /// New and changed rows, in order.
  var changed: [TransferList.Row] = []
  var removed: Set<TransferID> = []
  /// The order of the whole list, if it may have changed.
  var order: [TransferID]?
}
