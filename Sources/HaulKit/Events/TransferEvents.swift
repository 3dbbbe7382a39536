public import HaulCore

/// The events of a manager from the moment of asking: each state change once and in order, progress newest only.
///
/// One value is one subscriber, with one reader at a time; letting go of it unsubscribes.
public struct TransferEvents: AsyncSequence, Sendable {
  let hub: EventHub
  let token: Subscription

  init(hub: EventHub) {
    self.hub = hub
    token = Subscription(hub: hub)
  }

  /// Reads the events of one subscriber.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let token: Subscription

    /// The next event; nil when the manager has shut down, or the task was cancelled.
    public mutating func next() async -> TransferEvent? {
      await token.hub.next(token.id)
    }
  }

  /// The next events, in order, as many as are ready up to `most`; none when there will be no more.
  package func next(atMost most: Int) async -> [TransferEvent] {
    await hub.next(token.id, atMost: most)
  }

  /// The one subscriber that was made when the events were asked for.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(token: token) }
}

/// Unsubscribes when nobody reads any more.
final class Subscription: Sendable {
  let hub: EventHub
  let id: EventHub.SubscriberID

  init(hub: EventHub) {
    self.hub = hub
    id = hub.subscribe()
  }

  deinit { hub.unsubscribe(id) }
}
