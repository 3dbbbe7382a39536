import DequeModule
import HaulCore
import NIOConcurrencyHelpers

/// Reads all events for one subscriber from the hub. What the hub has dropped it reads from the
/// store; if the store has dropped it too, it reads the present state from the coordinator.
final class EventFeed: Sendable {
  /// What the subscriber knows already.
  enum Start: Sendable {
    /// Everything so far.
    case now
    /// Every state change up to this number.
    case after(Int)
    /// Nothing.
    case nothing
  }

  private struct Reading {
    /// Where it begins, as a reset or nil for what follows the start; nil once it was taken.
    var beginning: Task<QueueSnapshot?, Never>?
    var ready: Deque<QueueEvent> = []
    /// Summaries of a reset that are still to be delivered.
    var summaries: Deque<TransferSummary> = []
  }

  private static let pageSize = 256
  private let hub: EventHub
  private let key: EventHub.Key
  private let store: any Store
  private weak let coordinator: QueueCoordinator?
  /// Whether a reset is delivered as one snapshot for each transfer.
  private let deliversResetsAsSnapshots: Bool
  private let reading: NIOLockedValueBox<Reading>

  init(of coordinator: QueueCoordinator, from start: Start, deliversResetsAsSnapshots: Bool = false)
  {
    hub = coordinator.engine.hub
    let key = hub.subscribe()
    self.key = key
    store = coordinator.store
    self.coordinator = coordinator
    self.deliversResetsAsSnapshots = deliversResetsAsSnapshots
    var reading = Reading()
    // Read now, so that a late reader misses nothing.
    switch start {
    case .now: break
    case .after(let number):
      reading.beginning = coordinator.engine.begin { await coordinator.begin(key, after: number) }
    case .nothing:
      reading.beginning = coordinator.engine.begin { await coordinator.snapshot(for: key) }
    }
    self.reading = NIOLockedValueBox(reading)
  }

  deinit { hub.unsubscribe(key) }

  /// Unsubscribes: the reader receives the end.
  func cancel() { hub.unsubscribe(key) }

  /// The events that are ready: from the hub, or made here.
  private enum Ready {
    case fromHub([TransferEvent])
    case made([QueueEvent])
  }

  /// The next events, in order, as many as are ready up to `most`; empty at the end.
  func next(atMost most: Int) async -> [QueueEvent] {
    switch await ready(atMost: most) {
    case .fromHub(let events): events.map { .transfer($0) }
    case .made(let events): events
    }
  }

  /// The same for a subscriber that receives no resets.
  func nextOfTransfers(atMost most: Int) async -> [TransferEvent] {
    switch await ready(atMost: most) {
    case .fromHub(let events): events
    case .made(let events):
      events.compactMap { if case .transfer(let event) = $0 { event } else { nil } }
    }
  }

  /// The same for the members of a group.
  func nextOfMembers(of group: String, atMost most: Int) async -> [TransferEvent] {
    while true {
      let events = await nextOfTransfers(atMost: most)
      let own = events.filter { $0.group == group }
      if !own.isEmpty || events.isEmpty { return own }
    }
  }

  private func ready(atMost most: Int) async -> Ready {
    while true {
      let ready = takeReady(atMost: most)
      if !ready.isEmpty { return .made(ready) }
      if let page = takeSummaries() {
        await addSnapshots(page)
      } else if !Task.isCancelled, let beginning = takeBeginning() {
        if let snapshot = await beginning.value { reset(to: snapshot) }
      } else {
        switch await hub.next(key, atMost: most) {
        case .events(let events): return .fromHub(await store.identified(events))
        case .missed(let numbers): guard await recover(numbers) else { return .fromHub([]) }
        case .needsSnapshot, .end: return .fromHub([])
        }
      }
    }
  }

  private func takeReady(atMost most: Int) -> [QueueEvent] {
    reading.withLockedValue { reading in
      let ready = Array(reading.ready.prefix(most))
      reading.ready.removeFirst(ready.count)
      return ready
    }
  }

  private func takeBeginning() -> Task<QueueSnapshot?, Never>? {
    reading.withLockedValue { reading in
      defer { reading.beginning = nil }
      return reading.beginning
    }
  }

  private func takeSummaries() -> [TransferSummary]? {
    reading.withLockedValue { reading in
      guard !reading.summaries.isEmpty else { return nil }
      let page = Array(reading.summaries.prefix(Self.pageSize))
      reading.summaries.removeFirst(page.count)
      return page
    }
  }

  /// Reads state changes that the hub has dropped.
  private func recover(_ numbers: ClosedRange<Int>) async -> Bool {
    do {
      let events = try await store.events(from: numbers.lowerBound, atMost: Self.pageSize)
      let missed = (events ?? []).prefix { $0.number <= numbers.upperBound }
      if let last = missed.last {
        let found = try await store.withIdentities(
          missed.map {
            TransferEvent(
              number: $0.number, id: $0.id, identity: nil, kind: $0.kind, groupEnd: $0.groupEnd)
          })
        reading.withLockedValue { $0.ready.append(contentsOf: found.map { .transfer($0) }) }
        hub.didReadMissed(key, to: last.number)
        return true
      }
    } catch {
      // A closed store keeps the events for the next manager; a reset would replace them.
      if await coordinator?.isShutDown ?? true { return false }
      // The present state replaces events that the log has dropped or that cannot be read.
    }
    return await reset()
  }

  private func reset() async -> Bool {
    guard let snapshot = await coordinator?.snapshot(for: key) else { return false }
    reset(to: snapshot)
    return true
  }

  private func reset(to snapshot: QueueSnapshot) {
    reading.withLockedValue { reading in
      if deliversResetsAsSnapshots {
        reading.summaries = Deque(snapshot.transfers)
      } else {
        reading.ready.append(.reset(snapshot))
      }
    }
  }

  /// Makes snapshots of some transfers ready.
  private func addSnapshots(_ page: [TransferSummary]) async {
    // A snapshot without its result is better than none.
    let records = (try? await store.records(page.map(\.id))) ?? []
    let known = Dictionary(records.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    let events = page.map { summary in
      let record = known[summary.id]
      return TransferEvent(
        number: nil, id: summary.id, identity: record.map { TransferIdentity($0.request) },
        kind: .snapshot(hub.snapshot(summary, record)))
    }
    reading.withLockedValue { $0.ready.append(contentsOf: events.map { .transfer($0) }) }
  }
}

extension Store {
  /// The events, each with its identity, or without it if that cannot be read.
  func identified(_ events: [TransferEvent]) async -> [TransferEvent] {
    (try? await withIdentities(events)) ?? events
  }

  /// - Throws: `io`.
  func withIdentities(_ events: [TransferEvent]) async throws(TransferError) -> [TransferEvent] {
    let unknown = Set(events.lazy.filter { $0.identity == nil }.map(\.id))
    guard !unknown.isEmpty else { return events }
    let records = try await records(unknown.sorted())
    let known = records.reduce(into: [:]) { $0[$1.id] = TransferIdentity($1.request) }
    return events.map { $0.identity == nil ? $0.identified(known[$0.id]) : $0 }
  }
}
