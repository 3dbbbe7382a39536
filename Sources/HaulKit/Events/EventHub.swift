import DequeModule
import HaulCore
import NIOConcurrencyHelpers
import OrderedCollections

/// Tells every subscriber every state change, once and in order, and the newest progress of each
/// transfer.
///
/// One who reads everything is a position in one shared log and a slot per transfer for progress:
/// one that reads slowly delays nobody, and what it has not read is held once for all of them. The
/// log has a limit: what falls out of it before a subscriber has read it, that one has to read from
/// the store.
final class EventHub: Sendable {
  /// Who subscribed.
  struct Key: Hashable, Sendable {
    fileprivate let number: UInt64
    /// The transfer that it follows; nil for everything.
    fileprivate let transfer: TransferID?
  }

  /// What keeps events back while a caller does not have the handles of what it added.
  struct Hold: Sendable {
    fileprivate let number: UInt64
  }

  /// What there is to read.
  enum Portion: Sendable {
    case events([TransferEvent])
    /// The state changes of these numbers, to be read from the store.
    case missed(ClosedRange<Int>)
    /// How the transfer stands, to be asked for.
    case lost
    case end
  }

  typealias Waiter = CheckedContinuation<Portion, Never>

  private let state: NIOLockedValueBox<HubState>

  /// - Parameter limit: how many events wait at most for the slowest subscriber.
  init(limit: Int) { state = NIOLockedValueBox(HubState(limit: limit)) }

  /// Tells what a transfer does; its state is as it was.
  func emit(
    _ kind: TransferEvent.Kind, of id: TransferID, _ identity: TransferIdentity?
  ) {
    emit(CollectionOfOne(TransferEvent(number: nil, id: id, identity: identity, kind: kind)))
  }

  /// Tells events, in order. Progress of what has ended is not told any more.
  func emit(_ events: some Sequence<TransferEvent>) { change { $0.emit(events) } }

  /// Tells progress of what runs; one that was not read yet is replaced.
  func emit(progress: TransferProgress, of id: TransferID, _ identity: TransferIdentity?) {
    change { $0.emit(progress: progress, of: id, identity) }
  }

  /// Something runs for a transfer from now on.
  func begins(_ id: TransferID, tellsProgress: Bool) {
    change { $0.begins(id, tellsProgress: tellsProgress) }
  }

  /// Has those who read everything wait for what is emitted from now on, until `release`.
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

  /// What was last told of one that runs or is paused.
  func live(_ id: TransferID) -> (phase: TransferEvent.Phase?, progress: TransferProgress?) {
    state.withLockedValue { ($0.live[id]?.phase, $0.live[id]?.progress) }
  }

  /// How many events wait for those who have not read them.
  var held: Int {
    state.withLockedValue { state in
      state.watchers.values.reduce(state.log.count) { sum, watchers in
        watchers.values.reduce(sum) { $0 + $1.events.count }
      }
    }
  }

  /// Ends every stream once it has been read to its end.
  func close() { change { $0.close() } }

  /// Changes the state, then hands what is ready to those who wait; never calls out under the lock.
  private func change(_ body: (inout HubState) -> Void) {
    let wakes = state.withLockedValue { state in
      body(&state)
      defer { state.wakes = [] }
      return state.wakes
    }
    for (waiter, portion) in wakes { waiter.resume(returning: portion) }
  }
}

/// The side of those who read.
extension EventHub {
  /// Whether anybody listens.
  var isHeard: Bool {
    state.withLockedValue { !$0.subscribers.isEmpty || !$0.watchers.isEmpty }
  }

  /// Reads everything from now on, or, for one transfer, from how it stands.
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

  /// Has a subscriber go on from this moment: what was told before, it knows, but for these
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

  /// A subscriber has read what it missed up to this number.
  func caughtUp(_ key: Key, to number: Int) {
    state.withLockedValue { state in
      guard let missed = state.subscribers[key.number]?.missed else { return }
      state.subscribers[key.number]?.missed =
        number < missed.upperBound ? max(number + 1, missed.lowerBound)...missed.upperBound : nil
    }
  }

  /// The next there is, at most so many events; the end when the task is cancelled, too.
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
        // Two who read one subscription: the earlier one ends, rather than wait for ever.
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

  /// Notes who waits; gives who waited before.
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
