import DequeModule
import HaulCore
import OrderedCollections

/// Subscribers that follow one transfer each: many of them cost nothing while their transfers do
/// not change.
extension HubState {
  private static let mostEvents = 64

  /// Delivers an event to the followers of its transfer.
  mutating func tell(_ event: TransferEvent) {
    guard watchers[event.id] != nil else { return }
    watchers[event.id]?.values.indices.forEach { tell(event, place: $0) }
  }

  private mutating func tell(_ event: TransferEvent, place: Int) {
    guard var watcher = watchers[event.id]?.values[place], !watcher.isLost else { return }
    if let waiter = watcher.waiter {
      watcher.waiter = nil
      wakes.append((waiter, .events([event])))
    } else if watcher.events.count < Self.mostEvents {
      watcher.events.append(event)
    } else {
      // The present state then says more than the events before it.
      watcher = Watcher()
    }
    watchers[event.id]?.values[place] = watcher
  }

  /// Delivers progress; only the newest is kept.
  mutating func tell(progress event: TransferEvent) {
    guard let count = watchers[event.id]?.count else { return }
    for place in 0..<count {
      guard let watcher = watchers[event.id]?.values[place], !watcher.isLost else { continue }
      if watcher.waiter != nil {
        tell(event, place: place)
      } else {
        watchers[event.id]?.values[place].progress = event
      }
    }
  }

  /// What is ready for a follower; nil when it has to wait.
  mutating func pop(
    _ number: UInt64, of id: TransferID, atMost most: Int
  ) -> EventHub.Portion? {
    guard var watcher = watchers[id]?[number] else { return .end }
    if watcher.isLost { return .lost }
    if !watcher.events.isEmpty {
      let events = Array(watcher.events.prefix(most))
      watcher.events.removeFirst(events.count)
      watchers[id]?[number] = watcher
      return .events(events)
    }
    if let progress = watcher.progress {
      watchers[id]?[number]?.progress = nil
      return .events([progress])
    }
    return isClosed ? .end : nil
  }

  mutating func closeWatchers() {
    for id in watchers.keys {
      guard let places = watchers[id]?.values.indices else { continue }
      for place in places {
        guard let waiter = watchers[id]?.values[place].waiter else { continue }
        watchers[id]?.values[place].waiter = nil
        wakes.append((waiter, .end))
      }
    }
  }
}
