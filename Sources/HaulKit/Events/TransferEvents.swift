public import HaulCore

/// Events of a manager, or of one of its transfers: each state change once and in order, and the
/// newest progress.
///
/// One value is one subscriber with one reader at a time; releasing it unsubscribes. A slow reader
/// delays no other, and what is kept for it is bounded.
public struct TransferEvents: AsyncSequence, Sendable {
  enum Source: Sendable {
    case everything(EventFeed)
    case one(TransferFeed)
    case group(EventFeed, String)
  }

  let source: Source

  /// Reads the events of one subscriber.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let events: TransferEvents
    var periodicYield = PeriodicYield()

    /// The next event; nil at the end, or when the task was cancelled.
    public mutating func next() async -> TransferEvent? {
      await periodicYield.next()
      return await events.next(atMost: 1).first
    }
  }

  /// The next events, in order, as many as are ready up to `most`; empty at the end.
  package func next(atMost most: Int) async -> [TransferEvent] {
    switch source {
    case .one(let feed): await feed.next(atMost: most)
    case .everything(let feed): await feed.nextOfTransfers(atMost: most)
    case .group(let feed, let name): await feed.nextOfMembers(of: name, atMost: most)
    }
  }

  /// The iterator of the subscriber that was made when the events were requested.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(events: self) }
}

/// Events of a whole list, for a subscriber that keeps a copy of it: state changes by number, or a
/// reset with the present state.
///
/// One value is one subscriber with one reader at a time; releasing it unsubscribes. A slow reader
/// delays no other, and what is kept for it is bounded.
public struct QueueEvents: AsyncSequence, Sendable {
  let feed: EventFeed

  /// Reads the events of one subscriber.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let feed: EventFeed
    var periodicYield = PeriodicYield()

    /// The next event; nil when the manager has shut down, or the task was cancelled.
    public mutating func next() async -> QueueEvent? {
      await periodicYield.next()
      return await feed.next(atMost: 1).first
    }
  }

  /// The next events, in order, as many as are ready up to `most`; empty at the end.
  package func next(atMost most: Int) async -> [QueueEvent] { await feed.next(atMost: most) }

  /// Unsubscribes: `next` returns the end.
  package func cancel() { feed.cancel() }

  /// The iterator of the subscriber that was made when the events were requested.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(feed: feed) }
}
