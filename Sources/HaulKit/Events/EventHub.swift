import DequeModule
import HaulCore
import NIOConcurrencyHelpers
import OrderedCollections

/// Tells every subscriber every state change, once and in order, and the newest progress of each transfer.
///
/// A subscriber is a position in one shared log and a slot per transfer for progress: one that reads slowly
/// delays nobody, and what it has not read is held once for all of them.
final class EventHub: Sendable {
  typealias SubscriberID = UInt64
  /// Gets what is ready; nothing at the end.
  private typealias Waiter = CheckedContinuation<[TransferEvent], Never>

  private struct Subscriber {
    var cursor: Int
    var progress: OrderedDictionary<TransferID, TransferEvent> = [:]
    var waiter: Waiter?
    /// How many events the waiter takes at once.
    var most = 1
  }

  private struct State {
    var log: Deque<TransferEvent> = []
    /// The position of the first that is kept; positions rise by one.
    var first = 1
    var subscribers: [SubscriberID: Subscriber] = [:]
    var lastSubscriber: SubscriberID = 0
    var isClosed = false

    var next: Int { first + log.count }
  }

  private static let keptEvents = 10_000
  private let state = NIOLockedValueBox(State())

  /// Tells what a transfer does; its state is as it was.
  func publish(_ kind: TransferEvent.Kind, of id: TransferID, _ url: ResourceURL?) {
    publish([TransferEvent(number: nil, id: id, url: url, kind: kind)])
  }

  /// Tells events, in order. Progress of what has ended is not told any more.
  func publish(_ events: [TransferEvent]) {
    wake { state in
      for event in events {
        state.log.append(event)
        guard case .finished = event.kind else { continue }
        for key in state.subscribers.keys { state.subscribers[key]?.progress[event.id] = nil }
      }
      Self.trim(&state)
    }
  }

  /// Tells progress; one that was not read yet is replaced.
  func publish(progress: Progress, of id: TransferID, _ url: ResourceURL?) {
    wake { state in
      let event = TransferEvent(number: nil, id: id, url: url, kind: .progress(progress))
      for key in state.subscribers.keys { state.subscribers[key]?.progress[id] = event }
    }
  }

  /// Ends every stream once it has been read to its end.
  func close() {
    wake { $0.isClosed = true }
  }

  func subscribe() -> SubscriberID {
    state.withLockedValue { state in
      state.lastSubscriber += 1
      state.subscribers[state.lastSubscriber] = Subscriber(cursor: state.next)
      return state.lastSubscriber
    }
  }

  func unsubscribe(_ id: SubscriberID) {
    let waiter = state.withLockedValue { state in
      defer { Self.trim(&state) }
      return state.subscribers.removeValue(forKey: id)?.waiter
    }
    waiter?.resume(returning: [])
  }

  /// The next event; nil at the end, and when the task is cancelled.
  func next(_ id: SubscriberID) async -> TransferEvent? { await next(id, atMost: 1).first }

  /// The next events, as many as are ready; none at the end, and when the task is cancelled.
  func next(_ id: SubscriberID, atMost most: Int) async -> [TransferEvent] {
    await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        var other: Waiter?
        let ready: [TransferEvent]? = state.withLockedValue { state in
          guard state.subscribers[id] != nil, !Task.isCancelled else { return [] }
          let events = Self.pop(id, atMost: most, &state)
          if !events.isEmpty { return events }
          if state.isClosed { return [] }
          other = state.subscribers[id]?.waiter
          state.subscribers[id]?.waiter = waiter
          state.subscribers[id]?.most = most
          return nil
        }
        // Two who read one subscription: the earlier one ends, rather than wait for ever.
        other?.resume(returning: [])
        if let ready { waiter.resume(returning: ready) }
      }
    } onCancel: {
      unsubscribe(id)
    }
  }

  private static func pop(
    _ id: SubscriberID, atMost most: Int, _ state: inout State
  ) -> [TransferEvent] {
    var events: [TransferEvent] = []
    while events.count < most, let event = pop(id, &state) { events.append(event) }
    return events
  }

  private static func pop(_ id: SubscriberID, _ state: inout State) -> TransferEvent? {
    guard let cursor = state.subscribers[id]?.cursor else { return nil }
    if cursor < state.next {
      state.subscribers[id]?.cursor += 1
      defer { trim(&state) }
      return state.log[cursor - state.first]
    }
    guard let key = state.subscribers[id]?.progress.keys.first else { return nil }
    return state.subscribers[id]?.progress.removeValue(forKey: key)
  }

  /// Changes the state, then hands what is ready to those who wait; never calls out under the lock.
  private func wake(_ change: (inout State) -> Void) {
    let ready: [(Waiter, [TransferEvent])] = state.withLockedValue { state in
      change(&state)
      var ready: [(Waiter, [TransferEvent])] = []
      for id in state.subscribers.keys.sorted() {
        guard let waiter = state.subscribers[id]?.waiter,
          let most = state.subscribers[id]?.most
        else { continue }
        let events = Self.pop(id, atMost: most, &state)
        guard !events.isEmpty || state.isClosed else { continue }
        state.subscribers[id]?.waiter = nil
        ready.append((waiter, events))
      }
      return ready
    }
    for (waiter, events) in ready { waiter.resume(returning: events) }
  }

  /// Forgets what everyone has read, beyond what is kept for those who come later.
  private static func trim(_ state: inout State) {
    guard state.log.count > keptEvents else { return }
    let slowest = state.subscribers.values.map(\.cursor).min() ?? state.next
    while state.log.count > keptEvents, state.first < slowest {
      state.log.removeFirst()
      state.first += 1
    }
  }
}
