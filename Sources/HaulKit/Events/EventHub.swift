import DequeModule
import HaulCore
import NIOConcurrencyHelpers
import OrderedCollections

/// Delivers every state change to every subscriber, once and in order, and the newest progress of
/// each transfer.
///
/// All subscribers share one log with a limit: a slow subscriber delays no other, and reads events
/// that the log has dropped from the store.
final class EventHub: Sendable {
  /// Identifies a subscriber.
  struct Key: Hashable, Sendable {
    fileprivate let number: UInt64
    /// The transfer that it follows; nil for all.
    fileprivate let transfer: TransferID?
  }

  /// Holds back events until a caller has the handles of the transfers that it added.
  struct Hold: Sendable {
    fileprivate let number: UInt64
  }

  /// What a subscriber reads next.
  enum Delivery: Sendable {
    case events([TransferEvent])
    /// State changes with these numbers must be read from the store.
    case missed(ClosedRange<Int>)
    /// The present state of the transfer must be read.
    case needsSnapshot
    case end
  }

  typealias Waiter = CheckedContinuation<Delivery, Never>

  private let state: NIOLockedValueBox<HubState>

  /// - Parameter limit: the most events that are kept for the slowest subscriber.
  init(limit: Int) { state = NIOLockedValueBox(HubState(limit: limit)) }

  /// Emits an event that is not a state change.
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

  /// Notes that a run of a transfer begins.
  func runBegan(_ id: TransferID, reportsProgress: Bool) {
    change { $0.runBegan(id, reportsProgress: reportsProgress) }
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

  /// The last phase and progress that were emitted of a transfer that runs or is paused.
  func live(_ id: TransferID) -> (phase: TransferEvent.Phase?, progress: TransferProgress?) {
    state.withLockedValue { ($0.live[id]?.phase, $0.live[id]?.progress) }
  }

  /// Why the last attempt of a transfer that waits for the next one failed; nil if it is unknown.
  func lastFailure(_ id: TransferID) -> TransferError? {
    state.withLockedValue { $0.live[id]?.lastFailure }
  }

  /// - Parameter record: nil if it could not be read.
  func snapshot(_ summary: TransferSummary, _ record: TransferRecord?) -> TransferSnapshot {
    let (phase, progress) = live(summary.id)
    return TransferSnapshot(
      summary: summary, phase: phase, progress: progress,
      result: summary.state.isEnded ? record?.result : nil)
  }

  /// Notes what an earlier process left of a transfer that does not run, for snapshots.
  func show(_ progress: TransferProgress, of id: TransferID) {
    state.withLockedValue { $0.show(progress, of: id) }
  }

  /// How many events are kept for subscribers that have not read them.
  var bufferedEvents: Int {
    state.withLockedValue { state in
      state.transferSubscribers.values.reduce(state.log.count) { sum, subscribers in
        subscribers.values.reduce(sum) { $0 + $1.events.count }
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
    for (waiter, delivery) in wakes { waiter.resume(returning: delivery) }
  }
}

/// The readers' side.
extension EventHub {
  /// Whether there are subscribers.
  var hasSubscribers: Bool {
    state.withLockedValue { !$0.subscribers.isEmpty || !$0.transferSubscribers.isEmpty }
  }

  /// Subscribes to everything from now on, or to one transfer from the state that it reads first.
  func subscribe(to transfer: TransferID? = nil) -> Key {
    state.withLockedValue { state in
      state.lastSubscriber += 1
      let number = state.lastSubscriber
      if let transfer {
        state.addSubscriber(number, to: transfer)
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
      defer {
        if state.transferSubscribers[transfer]?.isEmpty == true {
          state.transferSubscribers[transfer] = nil
        }
      }
      return state.transferSubscribers[transfer]?.removeValue(forKey: key.number)?.waiter
    }
    waiter?.resume(returning: .end)
  }

  /// Makes a subscriber to everything continue from this moment: it knows all earlier events,
  /// except these numbers.
  func begin(_ key: Key, missed: ClosedRange<Int>? = nil) {
    state.withLockedValue { state in
      let next = state.next
      state.subscribers[key.number]?.cursor = next
      state.subscribers[key.number]?.missed = missed
      state.trim()
    }
  }

  /// Makes a subscriber to one transfer continue from this moment, with the state that it reads.
  /// - Returns: the progress of 100 % that it has not received and that the state does not replace.
  func beginTransfer(_ key: Key) -> TransferEvent? {
    guard let transfer = key.transfer else { return nil }
    return state.withLockedValue { $0.continueSubscriber(key.number, to: transfer) }
  }

  /// Notes that a subscriber has read what it missed, up to this number.
  func didReadMissed(_ key: Key, to number: Int) {
    state.withLockedValue { state in
      guard let missed = state.subscribers[key.number]?.missed else { return }
      state.subscribers[key.number]?.missed =
        number < missed.upperBound ? max(number + 1, missed.lowerBound)...missed.upperBound : nil
    }
  }

  /// What is ready, at most `most` events; the end also when the task is cancelled.
  func next(_ key: Key, atMost most: Int) async -> Delivery {
    await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        var other: Waiter?
        let ready: Delivery? = state.withLockedValue { state in
          if Task.isCancelled { return .end }
          if let ready = state.pop(key, atMost: most) { return ready }
          other = state.wait(key, waiter, atMost: most)
          return nil
        }
        // Two readers of one subscription: the earlier one ends, because it would wait forever.
        other?.resume(returning: .end)
        if let ready { waiter.resume(returning: ready) }
      }
    } onCancel: {
      unsubscribe(key)
    }
  }
}

extension HubState {
  fileprivate mutating func pop(_ key: EventHub.Key, atMost most: Int) -> EventHub.Delivery? {
    guard let transfer = key.transfer else { return pop(key.number, atMost: most) }
    return pop(key.number, of: transfer, atMost: most)
  }

  /// Registers a waiter; returns the previous one.
  fileprivate mutating func wait(
    _ key: EventHub.Key, _ waiter: EventHub.Waiter, atMost most: Int
  ) -> EventHub.Waiter? {
    guard let transfer = key.transfer else {
      defer {
        mayHaveWaiters = true
        subscribers[key.number]?.waiter = waiter
        subscribers[key.number]?.most = most
      }
      return subscribers[key.number]?.waiter
    }
    defer { transferSubscribers[transfer]?[key.number]?.waiter = waiter }
    return transferSubscribers[transfer]?[key.number]?.waiter
  }
}
