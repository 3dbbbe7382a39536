import DequeModule
import HaulCore
import OrderedCollections

/// Subscribers that follow one transfer each; they cost nothing while it does not change.
extension HubState {
  private static let maximumEvents = 64

  /// Delivers an event to the subscribers of its transfer.
  mutating func deliverToSubscribers(_ event: TransferEvent) {
    guard transferSubscribers[event.id] != nil else { return }
    transferSubscribers[event.id]?.values.indices.forEach { deliver(event, at: $0) }
  }

  private mutating func deliver(_ event: TransferEvent, at index: Int) {
    guard var subscriber = transferSubscribers[event.id]?.values[index], !subscriber.isLost else {
      return
    }
    if let waiter = subscriber.waiter {
      subscriber.waiter = nil
      wakes.append((waiter, .events([event])))
    } else if subscriber.events.count < Self.maximumEvents {
      subscriber.events.append(event)
    } else {
      // Too many unread events: the present state replaces them.
      subscriber = TransferSubscriber()
    }
    transferSubscribers[event.id]?.values[index] = subscriber
  }

  /// Delivers progress; only the newest is kept.
  mutating func deliverToSubscribers(progress event: TransferEvent) {
    guard let count = transferSubscribers[event.id]?.count else { return }
    for index in 0..<count {
      guard let subscriber = transferSubscribers[event.id]?.values[index], !subscriber.isLost else {
        continue
      }
      if subscriber.waiter != nil {
        deliver(event, at: index)
      } else {
        transferSubscribers[event.id]?.values[index].progress = event
      }
    }
  }

  /// What is ready for a subscriber; nil when it has to wait.
  mutating func pop(
    _ number: UInt64, of id: TransferID, atMost most: Int
  ) -> EventHub.Delivery? {
    guard var subscriber = transferSubscribers[id]?[number] else { return .end }
    if subscriber.isLost { return .lost }
    if !subscriber.events.isEmpty {
      let events = Array(subscriber.events.prefix(most))
      subscriber.events.removeFirst(events.count)
      transferSubscribers[id]?[number] = subscriber
      return .events(events)
    }
    if let progress = subscriber.progress {
      transferSubscribers[id]?[number]?.progress = nil
      return .events([progress])
    }
    return isClosed ? .end : nil
  }

  mutating func closeTransferSubscribers() {
    for id in transferSubscribers.keys {
      guard let indices = transferSubscribers[id]?.values.indices else { continue }
      for index in indices {
        guard let waiter = transferSubscribers[id]?.values[index].waiter else { continue }
        transferSubscribers[id]?.values[index].waiter = nil
        wakes.append((waiter, .end))
      }
    }
  }
}
