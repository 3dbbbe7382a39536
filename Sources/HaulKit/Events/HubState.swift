import DequeModule
import HaulCore
import OrderedCollections

/// The state of an `EventHub`: events that some subscriber has not read, and each one's position.
struct HubState {
  /// A subscriber to everything: a position in the log, and a slot for each transfer's progress.
  struct Subscriber {
    var cursor: Int
    /// The numbers of state changes that the log dropped before they were read.
    var missed: ClosedRange<Int>?
    var progress: OrderedDictionary<TransferID, TransferEvent> = [:]
    var waiter: EventHub.Waiter?
    /// The most events that the waiter takes at once.
    var most = 1
  }

  /// A subscriber to one transfer.
  struct Watcher {
    var events: Deque<TransferEvent> = []
    var progress: TransferEvent?
    /// Whether it must read the transfer's present state first.
    var isLost = true
    var waiter: EventHub.Waiter?
  }

  /// What is known of a transfer that runs or is paused.
  struct Live {
    var isRunning = true
    var tellsProgress = true
    var phase: TransferEvent.Phase?
    var progress: TransferProgress?
    /// Whether progress with all bytes was emitted.
    var isWhole = false

    /// Progress with all bytes of a completed transfer, if it was not emitted yet. A step counts in
    /// units of its own.
    func whole(_ result: TransferResult, of event: TransferEvent) -> TransferEvent? {
      guard result.state == .completed, tellsProgress, !isWhole,
        let all = event.url == nil ? progress?.total : result.bytes
      else { return nil }
      let seconds = result.duration / .seconds(1)
      let progress = TransferProgress(
        bytes: all, total: all, rate: seconds > 0 ? Double(result.fetched) / seconds : 0,
        connections: 0)
      return TransferEvent(
        number: nil, id: event.id, identity: event.identity, kind: .progress(progress))
    }
  }

  /// Whether a subscriber may wait.
  var isAwaited = false
  private(set) var log: Deque<TransferEvent> = []
  /// The position of the first event in the log; positions increase by one.
  private(set) var first = 1
  var subscribers: OrderedDictionary<UInt64, Subscriber> = [:]
  var watchers: [TransferID: OrderedDictionary<UInt64, Watcher>] = [:]
  var live = IDMap<Live>()
  var lastSubscriber: UInt64 = 0
  /// The positions from which events are held back, in increasing order.
  var holds: [(number: UInt64, position: Int)] = []
  var lastHold: UInt64 = 0
  var isClosed = false
  /// The waiters to resume once the lock is released.
  var wakes: [(waiter: EventHub.Waiter, portion: EventHub.Portion)] = []
  private let limit: Int

  /// - Parameter limit: the most events that are kept for the slowest subscriber.
  init(limit: Int) { self.limit = limit }

  var next: Int { first + log.count }

  /// A transfer has a run from now on.
  mutating func begins(_ id: TransferID, tellsProgress: Bool) {
    guard let place = live.place(of: id) else {
      live.set(id, to: Live(tellsProgress: tellsProgress))
      return
    }
    live[place].isRunning = true
    live[place].tellsProgress = tellsProgress
  }

  mutating func emit(_ events: some Sequence<TransferEvent>) {
    for event in events {
      emit(event)
      // Trims early, so that many events at once are not all kept first.
      if log.count - Self.worthTrimming > limit { trim() }
    }
    trim()
    wakeSubscribers()
  }

  /// Only for a running transfer; with all bytes only once.
  mutating func emit(progress: TransferProgress, of id: TransferID, _ identity: TransferIdentity?) {
    guard let place = live.place(of: id) else { return }
    let known = live[place]
    guard known.isRunning, known.tellsProgress, !progress.isWhole || !known.isWhole
    else { return }
    live[place].progress = progress
    live[place].isWhole = progress.isWhole
    let event = TransferEvent(
      number: nil, id: id, identity: identity, kind: .progress(progress))
    if progress.isWhole {
      forgetProgress(of: id)
      append(event)
      trim()
    } else {
      for place in subscribers.values.indices { subscribers.values[place].progress[id] = event }
      tell(progress: event)
    }
    wakeSubscribers()
  }

  private mutating func emit(_ event: TransferEvent) {
    let id = event.id
    switch event.kind {
    case .finished(let result):
      if let known = live.remove(id), let whole = known.whole(result, of: event) {
        append(whole)
      }
      forgetProgress(of: id)
    case .removed: live.remove(id)
    case .paused:
      forgetProgress(of: id)
      guard let place = live.place(of: id) else { break }
      live[place].isRunning = false
      live[place].phase = nil
    case .waiting:
      if let place = live.place(of: id) { live[place].phase = nil }
    case .phase(let phase, _):
      if phase == .restarted { forgetProgress(of: id) }
      guard let place = live.place(of: id) else { break }
      live[place].phase = phase
      guard phase == .restarted else { break }
      live[place].progress = nil
      live[place].isWhole = false
    case .added, .target, .resumed, .progress, .attempt, .limited, .connections, .moved, .snapshot:
      break
    }
    append(event)
  }

  private mutating func append(_ event: TransferEvent) {
    if !subscribers.isEmpty { log.append(event) }
    tell(event)
  }

  /// Unread progress is no longer useful.
  private mutating func forgetProgress(of id: TransferID) {
    for place in subscribers.values.indices where !subscribers.values[place].progress.isEmpty {
      subscribers.values[place].progress[id] = nil
    }
    guard watchers[id] != nil else { return }
    watchers[id]?.values.indices.forEach { watchers[id]?.values[$0].progress = nil }
  }
}

/// Reading.
extension HubState {
  /// What is ready for a subscriber to everything; nil when it has to wait.
  mutating func pop(_ number: UInt64, atMost most: Int) -> EventHub.Portion? {
    guard let place = subscribers.index(forKey: number) else { return .end }
    return pop(at: place, atMost: most)
  }

  private mutating func pop(at place: Int, atMost most: Int) -> EventHub.Portion? {
    let cursor = subscribers.values[place].cursor
    let readable = holds.first?.position ?? next
    if !holds.isEmpty, cursor >= readable { return nil }
    if let missed = subscribers.values[place].missed { return .missed(missed) }
    let count = min(most, readable - cursor)
    if count > 0 {
      let start = cursor - first
      subscribers.values[place].cursor += count
      let events = Array(log[start..<start + count])
      trim()
      return .events(events)
    }
    var events: [TransferEvent] = []
    while events.count < most, let key = subscribers.values[place].progress.keys.first,
      let event = subscribers.values[place].progress.removeValue(forKey: key)
    { events.append(event) }
    if !events.isEmpty { return .events(events) }
    return isClosed ? .end : nil
  }

  mutating func wakeSubscribers() {
    // Usually none waits: events come faster than they are read.
    guard isAwaited else { return }
    isAwaited = false
    for place in subscribers.values.indices {
      guard let waiter = subscribers.values[place].waiter else { continue }
      guard let portion = pop(at: place, atMost: subscribers.values[place].most) else {
        isAwaited = true
        continue
      }
      subscribers.values[place].waiter = nil
      wakes.append((waiter, portion))
    }
  }

  mutating func close() {
    (isClosed, holds) = (true, [])
    wakeSubscribers()
    closeWatchers()
  }

  /// Drops events that all have read, and those beyond the limit that slow subscribers have not
  /// read.
  mutating func trim() {
    let enough = subscribers.isEmpty ? 0 : min(Self.worthTrimming, limit)
    guard log.count > enough else { return }
    var slowest = next
    for place in subscribers.values.indices {
      slowest = min(slowest, subscribers.values[place].cursor)
    }
    drop(slowest - first)
    guard log.count > limit else { return }
    let kept = next - limit
    for place in subscribers.values.indices { skip(to: kept, place) }
    drop(kept - first)
  }

  private static let worthTrimming = 256

  private mutating func drop(_ count: Int) {
    guard count > 0 else { return }
    log.removeFirst(count)
    first += count
  }

  /// Moves a subscriber to that position, and notes which numbers it has to read from the store.
  private mutating func skip(to position: Int, _ place: Int) {
    let subscriber = subscribers.values[place]
    guard subscriber.cursor < position else { return }
    let numbers = log[subscriber.cursor - first..<position - first].lazy.compactMap(\.number)
    if let low = subscriber.missed?.lowerBound ?? numbers.first, let high = numbers.last {
      subscribers.values[place].missed = low...high
    }
    subscribers.values[place].cursor = position
  }
}
