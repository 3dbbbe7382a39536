import DequeModule
import HaulCore
import OrderedCollections

/// The state of an `EventHub`: the events that some subscriber has not read, and the position of
/// each subscriber.
struct HubState {
  /// A subscriber to everything: a position in the log, and a slot for each transfer's progress.
  struct Subscriber {
    var cursor: Int
    /// The numbers of state changes that the log dropped before they were read.
    var missed: ClosedRange<Int>?
    var progress: OrderedDictionary<TransferID, TransferEvent> = [:]
    var waiter: EventHub.Waiter?
    /// The maximum number of events that the waiter takes at once.
    var most = 1
  }

  /// A subscriber to one transfer.
  struct TransferSubscriber {
    var events: Deque<TransferEvent> = []
    var progress: TransferEvent?
    /// Whether it must read the transfer's present state first.
    var needsSnapshot = true
    /// While it is lost: the progress of 100 % that it has not received, which no state replaces.
    var completeProgress: TransferEvent?
    var waiter: EventHub.Waiter?
  }

  /// What is known of a transfer that runs or is paused.
  struct LiveTransfer {
    var isRunning = true
    var reportsProgress = true
    var phase: TransferEvent.Phase?
    var progress: TransferProgress?
    /// Why its last attempt failed; nil once the next one has begun.
    var lastFailure: TransferError?
    /// Whether progress of 100 % was emitted.
    var isWhole = false

    /// The progress event that shows a completed transfer as 100 %; nil if one was emitted already.
    /// For a step it uses the total that the step reported, because a step does not count bytes.
    func completeProgress(_ result: TransferResult, of event: TransferEvent) -> TransferEvent? {
      guard result.state == .completed, reportsProgress, !isWhole,
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

  /// False only if certainly no subscriber waits.
  var mayHaveWaiters = false
  private(set) var log: Deque<TransferEvent> = []
  /// The position of the first event in the log; positions increase by one.
  private(set) var first = 1
  var subscribers: OrderedDictionary<UInt64, Subscriber> = [:]
  var transferSubscribers: [TransferID: OrderedDictionary<UInt64, TransferSubscriber>] = [:]
  var live = IDDictionary<LiveTransfer>()
  var lastSubscriber: UInt64 = 0
  /// The positions from which events are held back, in increasing order.
  var holds: [(number: UInt64, position: Int)] = []
  var lastHold: UInt64 = 0
  var isClosed = false
  /// The waiters to resume once the lock is released.
  var wakes: [(waiter: EventHub.Waiter, delivery: EventHub.Delivery)] = []
  private let limit: Int

  /// - Parameter limit: the maximum number of events that are kept for the slowest subscriber.
  init(limit: Int) { self.limit = limit }

  var next: Int { first + log.count }

  /// Notes that a run of a transfer begins.
  mutating func runBegan(_ id: TransferID, reportsProgress: Bool) {
    guard let index = live.index(of: id) else {
      live.set(id, to: LiveTransfer(reportsProgress: reportsProgress))
      return
    }
    live[index].isRunning = true
    live[index].reportsProgress = reportsProgress
  }

  mutating func show(_ progress: TransferProgress, of id: TransferID) {
    guard live.index(of: id) == nil else { return }
    live.set(id, to: LiveTransfer(isRunning: false, progress: progress))
  }

  mutating func emit(_ events: some Sequence<TransferEvent>) {
    for event in events {
      emit(event)
      // Trims early, so that many events at once do not exceed the limit by much.
      if log.count - Self.trimThreshold > limit { trim() }
    }
    trim()
    wakeSubscribers()
  }

  /// Ignored unless the transfer runs; progress with all bytes is emitted once.
  mutating func emit(progress: TransferProgress, of id: TransferID, _ identity: TransferIdentity?) {
    guard let index = live.index(of: id) else { return }
    let known = live[index]
    guard known.isRunning, known.reportsProgress, !progress.isWhole || !known.isWhole
    else { return }
    live[index].progress = progress
    live[index].isWhole = progress.isWhole
    let event = TransferEvent(
      number: nil, id: id, identity: identity, kind: .progress(progress))
    if progress.isWhole {
      forgetProgress(of: id)
      append(event)
      trim()
    } else {
      for index in subscribers.values.indices { subscribers.values[index].progress[id] = event }
      deliverToSubscribers(progress: event)
    }
    wakeSubscribers()
  }

  private mutating func emit(_ event: TransferEvent) {
    let id = event.id
    switch event.kind {
    case .finished(let result):
      if let known = live.remove(id),
        let completeProgress = known.completeProgress(result, of: event)
      {
        append(completeProgress)
      }
      forgetProgress(of: id)
    case .removed: live.remove(id)
    case .paused:
      forgetProgress(of: id)
      guard let index = live.index(of: id) else { break }
      live[index].isRunning = false
      live[index].phase = nil
      live[index].lastFailure = nil
    case .waiting:
      if let index = live.index(of: id) { live[index].phase = nil }
    case .phase(let phase, _):
      if phase == .restarted { forgetProgress(of: id) }
      guard let index = live.index(of: id) else { break }
      live[index].phase = phase
      live[index].lastFailure = nil
      guard phase == .restarted else { break }
      live[index].progress = nil
      live[index].isWhole = false
    case .attempt(_, let error, _):
      if let index = live.index(of: id) { live[index].lastFailure = error }
    case .added, .target, .resumed, .progress, .limited, .connections, .moved, .snapshot:
      break
    }
    append(event)
  }

  private mutating func append(_ event: TransferEvent) {
    if !subscribers.isEmpty { log.append(event) }
    deliverToSubscribers(event)
  }

  /// Drops unread progress, which is no longer useful.
  private mutating func forgetProgress(of id: TransferID) {
    for index in subscribers.values.indices where !subscribers.values[index].progress.isEmpty {
      subscribers.values[index].progress[id] = nil
    }
    guard transferSubscribers[id] != nil else { return }
    transferSubscribers[id]?.values.indices.forEach {
      transferSubscribers[id]?.values[$0].progress = nil
    }
  }
}

/// Reading.
extension HubState {
  /// What is ready for a subscriber to everything; nil when it has to wait.
  mutating func pop(_ number: UInt64, atMost most: Int) -> EventHub.Delivery? {
    guard let index = subscribers.index(forKey: number) else { return .end }
    return pop(at: index, atMost: most)
  }

  private mutating func pop(at index: Int, atMost most: Int) -> EventHub.Delivery? {
    let cursor = subscribers.values[index].cursor
    let readable = holds.first?.position ?? next
    if !holds.isEmpty, cursor >= readable { return nil }
    if let missed = subscribers.values[index].missed { return .missed(missed) }
    let count = min(most, readable - cursor)
    if count > 0 {
      let start = cursor - first
      subscribers.values[index].cursor += count
      let events = Array(log[start..<start + count])
      trim()
      return .events(events)
    }
    var events: [TransferEvent] = []
    while events.count < most, let key = subscribers.values[index].progress.keys.first,
      let event = subscribers.values[index].progress.removeValue(forKey: key)
    { events.append(event) }
    if !events.isEmpty { return .events(events) }
    return isClosed ? .end : nil
  }

  mutating func wakeSubscribers() {
    // Usually no subscriber waits: events arrive faster than they are read.
    guard mayHaveWaiters else { return }
    mayHaveWaiters = false
    for index in subscribers.values.indices {
      guard let waiter = subscribers.values[index].waiter else { continue }
      guard let delivery = pop(at: index, atMost: subscribers.values[index].most) else {
        mayHaveWaiters = true
        continue
      }
      subscribers.values[index].waiter = nil
      wakes.append((waiter, delivery))
    }
  }

  mutating func close() {
    (isClosed, holds) = (true, [])
    wakeSubscribers()
    closeTransferSubscribers()
  }

  /// Drops events that all subscribers have read, and the oldest ones beyond the limit.
  mutating func trim() {
    let enough = subscribers.isEmpty ? 0 : min(Self.trimThreshold, limit)
    guard log.count > enough else { return }
    var slowest = next
    for index in subscribers.values.indices {
      slowest = min(slowest, subscribers.values[index].cursor)
    }
    drop(slowest - first)
    guard log.count > limit else { return }
    let kept = next - limit
    for index in subscribers.values.indices { skip(to: kept, index) }
    drop(kept - first)
  }

  private static let trimThreshold = 256

  private mutating func drop(_ count: Int) {
    guard count > 0 else { return }
    log.removeFirst(count)
    first += count
  }

  /// Moves a subscriber to that position, and notes which numbers it has to read from the store.
  private mutating func skip(to position: Int, _ index: Int) {
    let subscriber = subscribers.values[index]
    guard subscriber.cursor < position else { return }
    let numbers = log[subscriber.cursor - first..<position - first].lazy.compactMap(\.number)
    if let low = subscriber.missed?.lowerBound ?? numbers.first, let high = numbers.last {
      subscribers.values[index].missed = low...high
    }
    subscribers.values[index].cursor = position
  }
}
