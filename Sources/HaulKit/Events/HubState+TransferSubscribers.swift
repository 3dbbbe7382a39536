import DequeModule
import HaulCore
import OrderedCollections

/// Subscribers that follow one transfer each; they cost nothing while it does not change.
extension HubState {
  private static let maximumEvents = 64

  /// Adds a subscriber that must first read the state of its transfer.
  mutating func addSubscriber(_ number: UInt64, to id: TransferID) {
    var subscriber = TransferSubscriber()
    if let known = live[id], known.isWhole, let progress = known.progress {
      subscriber.completeProgress = TransferEvent(
        number: nil, id: id, identity: nil, kind: .progress(progress))
    }
    transferSubscribers[id, default: [:]][number] = subscriber
  }

  /// Makes a subscriber continue from this moment.
  /// - Returns: the progress of 100 % that it has not received, unless a restart made it obsolete.
  mutating func continueSubscriber(_ number: UInt64, to id: TransferID) -> TransferEvent? {
    defer {
      transferSubscribers[id]?[number]?.needsSnapshot = false
      transferSubscribers[id]?[number]?.completeProgress = nil
    }
    if let known = live[id], !known.isWhole { return nil }
    return transferSubscribers[id]?[number]?.completeProgress
  }

  /// Delivers an event to the subscribers of its transfer.
  mutating func deliverToSubscribers(_ event: TransferEvent) {
    guard transferSubscribers[event.id] != nil else { return }
    transferSubscribers[event.id]?.values.indices.forEach { deliver(event, at: $0) }
  }

  private mutating func deliver(_ event: TransferEvent, at index: Int) {
    guard var subscriber = transferSubscribers[event.id]?.values[index] else { return }
    if subscriber.needsSnapshot {
      if event.isWhole { transferSubscribers[event.id]?.values[index].completeProgress = event }
      return
    }
    if let waiter = subscriber.waiter {
      subscriber.waiter = nil
      wakes.append((waiter, .events([event])))
    } else if subscriber.events.count < Self.maximumEvents {
      subscriber.events.append(event)
    } else {
      // Too many unread events: the present state replaces them.
      let completeProgress = event.isWhole ? event : subscriber.events.last { $0.isWhole }
      subscriber = TransferSubscriber(completeProgress: completeProgress)
    }
    transferSubscribers[event.id]?.values[index] = subscriber
  }

  /// Delivers progress; only the newest is kept.
  mutating func deliverToSubscribers(progress event: TransferEvent) {
    guard let count = transferSubscribers[event.id]?.count else { return }
    for index in 0..<count {
      guard let subscriber = transferSubscribers[event.id]?.values[index], !subscriber.needsSnapshot
      else {
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
    if subscriber.needsSnapshot { return .needsSnapshot }
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

extension TransferEvent {
  /// Whether it is progress of 100 %.
  fileprivate var isWhole: Bool {
    if case .progress(let progress) = kind { progress.isWhole } else { false }
  }
}
