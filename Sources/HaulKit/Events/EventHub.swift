import DequeModule
import HaulCore
import NIOConcurrencyHelpers
import OrderedCollections

/// Delivers every state change to every subscriber, once and in order, and the newest progress of
/// each transfer.
///
/// A subscriber to everything is a position in one shared log, and a slot for each transfer's
/// progress. A slow one delays no other, and unread events are held once for all. The log has a
/// limit: a subscriber that falls behind it reads the dropped events from the store.
final class EventHub: Sendable {
  /// Identifies a subscriber.
  struct Key: Hashable, Sendable {
    fileprivate let number: UInt64
    /// The transfer that it follows; nil for all.
    fileprivate let transfer: TransferID?
  }

  /// Holds back events until a caller has the handles of what it added.
  struct Hold: Sendable {
    fileprivate let number: UInt64
  }

  /// What there is to read.
  enum Portion: Sendable {
    case events([TransferEvent])
    /// State changes with these numbers must be read from the store.
    case missed(ClosedRange<Int>)
    /// The present state of the transfer must be read.
    case lost
    case end
  }

  typealias Waiter = CheckedContinuation<Portion, Never>

  private let state: NIOLockedValueBox<HubState>

  /// - Parameter limit: the most events that are kept for the slowest subscriber.
  init(limit: Int) { state = NIOLockedValueBox(HubState(limit: limit)) }

  /// Emits what a transfer does; its state does not change.
  func emit(
    _ kind: TransferEvent.Kind, of id: TransferID, _ identity: TransferIdentity?
  ) {
    emit(CollectionOfOne(TransferEvent(number: nil, id: id, identity: identity, kind: kind)))
  }

  /// Emits events, in order. Progress of transfers that have ended is not emitted.
  func emit(_ events: some Sequence<TransferEvent>) { change { $0.emit(events) } }

  /// Emits progress of a running transfer; it replaces unread progress.
  func emit(progress: TransferProgress, of id: TransferID, _ identity: TransferIdentity?) {
    change { $0.emit(progress: progress, of: id, identity) }
  }

  /// A transfer has a run from now on.
  func begins(_ id: TransferID, tellsProgress: Bool) {
    change { $0.begins(id, tellsProgress: tellsProgress) }
  }

  /// Holds back events for subscribers to everything, until `release`.
  func hold() -> Hold {
    state.withLockedValue { state in
      state.lastHold += 1
      state.holds.append((state.lastHold, state.next))
      return Hold(number: state.lastHold)
    }
  }

  func release(_ hold: Hold) {
    change { state in
      state.holds.removeAll { $0.number == hold.number }
      state.wakeSubscribers()
    }
  }

  /// What was last emitted of a transfer that runs or is paused.
  func live(_ id: TransferID) -> (phase: TransferEvent.Phase?, progress: TransferProgress?) {
    state.withLockedValue { ($0.live[id]?.phase, $0.live[id]?.progress) }
  }

  /// How many events are kept for subscribers that have not read them.
  var held: Int {
    state.withLockedValue { state in
      state.watchers.values.reduce(state.log.count) { sum, watchers in
        watchers.values.reduce(sum) { $0 + $1.events.count }
      }
    }
  }

  /// Ends every stream after its last event.
  func close() { change { $0.close() } }

  /// Changes the state, then resumes waiting readers; never calls out under the lock.
  private func change(_ body: (inout HubState) -> Void) {
    let wakes = state.withLockedValue { state in
      body(&state)
      defer { state.wakes = [] }
      return state.wakes
    }
    for (waiter, portion) in wakes { waiter.resume(returning: portion) }
  }
}

/// The readers' side.
extension EventHub {
  /// Whether there are subscribers.
  var isHeard: Bool {
    state.withLockedValue { !$0.subscribers.isEmpty || !$0.watchers.isEmpty }
  }

  /// Subscribes to everything from now on, or to one transfer from its present state.
  func subscribe(to transfer: TransferID? = nil) -> Key {
    state.withLockedValue { state in
      state.lastSubscriber += 1
      let number = state.lastSubscriber
      if let transfer {
        state.watchers[transfer, default: [:]][number] = HubState.Watcher()
      } else {
        state.subscribers[number] = HubState.Subscriber(cursor: state.next)
      }
      return Key(number: number, transfer: transfer)
    }
  }

  func unsubscribe(_ key: Key) {
    let waiter = state.withLockedValue { state -> Waiter? in
      guard let transfer = key.transfer else {
        defer { state.trim() }
        return state.subscribers.removeValue(forKey: key.number)?.waiter
      }
      defer { if state.watchers[transfer]?.isEmpty == true { state.watchers[transfer] = nil } }
      return state.watchers[transfer]?.removeValue(forKey: key.number)?.waiter
    }
    waiter?.resume(returning: .end)
  }

  /// Makes a subscriber continue from this moment: it knows everything before, except these
  /// numbers.
  func begin(_ key: Key, missed: ClosedRange<Int>? = nil) {
    state.withLockedValue { state in
      if let transfer = key.transfer {
        state.watchers[transfer]?[key.number]?.isLost = false
      } else {
        let next = state.next
        state.subscribers[key.number]?.cursor = next
        state.subscribers[key.number]?.missed = missed
        state.trim()
      }
    }
  }

  /// A subscriber has read what it missed, up to this number.
  func caughtUp(_ key: Key, to number: Int) {
    state.withLockedValue { state in
      guard let missed = state.subscribers[key.number]?.missed else { return }
      state.subscribers[key.number]?.missed =
        number < missed.upperBound ? max(number + 1, missed.lowerBound)...missed.upperBound : nil
    }
  }

  /// What is ready, at most that many events; the end also when the task is cancelled.
  func next(_ key: Key, atMost most: Int) async -> Portion {
    await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        var other: Waiter?
        let ready: Portion? = state.withLockedValue { state in
          if Task.isCancelled { return .end }
          if let ready = state.pop(key, atMost: most) { return ready }
          other = state.wait(key, waiter, atMost: most)
          return nil
        }
        // Two readers of one subscription: the earlier one ends, because it would wait for ever.
        other?.resume(returning: .end)
        if let ready { waiter.resume(returning: ready) }
      }
    } onCancel: {
      unsubscribe(key)
    }
  }
}

extension HubState {
  fileprivate mutating func pop(_ key: EventHub.Key, atMost most: Int) -> EventHub.Portion? {
    guard let transfer = key.transfer else { return pop(key.number, atMost: most) }
    return pop(key.number, of: transfer, atMost: most)
  }

  /// Registers a waiter; returns the previous one.
  fileprivate mutating func wait(
    _ key: EventHub.Key, _ waiter: EventHub.Waiter, atMost most: Int
  ) -> EventHub.Waiter? {
    guard let transfer = key.transfer else {
      defer {
        isAwaited = true
        subscribers[key.number]?.waiter = waiter
        subscribers[key.number]?.most = most
      }
      return subscribers[key.number]?.waiter
    }
    defer { watchers[transfer]?[key.number]?.waiter = waiter }
    return watchers[transfer]?[key.number]?.waiter
  }
}
