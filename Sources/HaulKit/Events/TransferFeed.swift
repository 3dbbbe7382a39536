import DequeModule
import HaulCore
import NIOConcurrencyHelpers

/// Reads the events of one transfer for one subscriber: from its state at the call to its end.
final class TransferFeed: Sendable {
  private struct Reading {
    /// The state at the call; nil once it was taken.
    var beginning: Task<[TransferEvent], Never>?
    var ready: Deque<TransferEvent> = []
    var isOver = false
  }

  private let hub: EventHub
  private let key: EventHub.Key
  private let id: TransferID
  private let identity: TransferIdentity?
  private weak let coordinator: QueueCoordinator?
  private let reading: NIOLockedValueBox<Reading>

  init(of id: TransferID, _ identity: TransferIdentity?, _ coordinator: QueueCoordinator) {
    hub = coordinator.engine.hub
    let key = hub.subscribe(to: id)
    self.key = key
    self.id = id
    self.identity = identity
    self.coordinator = coordinator
    // Read now, so that a late reader misses nothing.
    let beginning = coordinator.engine.begin { await coordinator.snapshot(of: id, for: key) }
    reading = NIOLockedValueBox(Reading(beginning: beginning))
  }

  deinit { hub.unsubscribe(key) }

  /// The next events, in order, as many as are ready up to `most`; empty after the end.
  func next(atMost most: Int) async -> [TransferEvent] {
    while true {
      let (ready, isOver) = take(atMost: most)
      if !ready.isEmpty || isOver { return ready }
      if !Task.isCancelled, let beginning = takeBeginning() {
        add(await beginning.value)
        continue
      }
      switch await hub.next(key, atMost: most) {
      case .events(let events): add(events)
      case .needsSnapshot: add(await coordinator?.snapshot(of: id, for: key) ?? [])
      case .missed, .end: return []
      }
    }
  }

  private func takeBeginning() -> Task<[TransferEvent], Never>? {
    reading.withLockedValue { reading in
      defer { reading.beginning = nil }
      return reading.beginning
    }
  }

  private func take(atMost most: Int) -> (ready: [TransferEvent], isOver: Bool) {
    reading.withLockedValue { reading in
      let ready = Array(reading.ready.prefix(most))
      reading.ready.removeFirst(ready.count)
      return (ready, reading.isOver)
    }
  }

  /// Nothing follows an end, or an unknown transfer.
  private func add(_ events: [TransferEvent]) {
    let end = events.firstIndex { $0.kind.isEnd }
    let reported = (end.map { events[...$0] } ?? events[...]).map { event in
      event.identity == nil ? event.identified(identity) : event
    }
    reading.withLockedValue { reading in
      reading.ready.append(contentsOf: reported)
      reading.isOver = end != nil || events.isEmpty
    }
  }
}

extension TransferEvent.Kind {
  /// Whether it is the end of the transfer.
  fileprivate var isEnd: Bool {
    switch self {
    case .finished, .removed: true
    default: false
    }
  }
}
