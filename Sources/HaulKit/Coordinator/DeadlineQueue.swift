package import HaulCore
import HeapModule
import NIOConcurrencyHelpers

/// Many deadlines, each under a key, with one timer task that sleeps until the earliest.
package final class DeadlineQueue<Key: Hashable & Sendable>: Sendable {
  package typealias Handler = @Sendable ([Key]) async -> Void

  private struct Entry: Comparable, Sendable {
    let instant: Instant
    /// Grows with each `set`; the larger number was set later.
    let number: UInt64
    let key: Key

    static func < (left: Entry, right: Entry) -> Bool {
      (left.instant, left.number) < (right.instant, right.number)
    }

    static func == (left: Entry, right: Entry) -> Bool { left.number == right.number }
  }

  private struct State {
    /// May hold outdated entries: `current` has the valid ones.
    var heap = Heap<Entry>()
    var current: [Key: Entry] = [:]
    var lastNumber: UInt64 = 0
    var sleeper: (instant: Instant, task: Task<Void, Never>)?
    var handler: Handler?
    var isStopped = false
  }

  private let clock: any TransferClock
  private let executor: (any TaskExecutor)?
  private let state = NIOLockedValueBox(State())

  /// - Parameter executor: where the timer runs; nil for the global executor.
  package init(clock: any TransferClock, executor: (any TaskExecutor)?) {
    self.clock = clock
    self.executor = executor
  }

  deinit { stop() }

  /// Calls `handler` with the keys whose deadlines have passed, in order; never after `stop`.
  package func begin(_ handler: @escaping Handler) {
    state.withLockedValue { $0.handler = handler }
  }

  /// Sets the deadline of a key; nil removes it. O(log n).
  package func set(_ key: Key, to instant: Instant?) {
    state.withLockedValue { state in
      guard !state.isStopped, state.current[key]?.instant != instant else { return }
      guard let instant else { return state.current[key] = nil }
      state.lastNumber += 1
      let entry = Entry(instant: instant, number: state.lastNumber, key: key)
      state.current[key] = entry
      state.heap.insert(entry)
      // Keeps outdated entries from piling up until their deadlines.
      if state.heap.count > 2 * state.current.count + 64 {
        state.heap = Heap(state.current.values)
      }
      sleep(&state)
    }
  }

  /// The deadline of a key; nil when it has none.
  package func instant(of key: Key) -> Instant? {
    state.withLockedValue { $0.current[key]?.instant }
  }

  /// Stops calling the handler.
  package func stop() {
    let sleeper = state.withLockedValue { state in
      state.isStopped = true
      (state.current, state.heap) = ([:], Heap())
      defer { state.sleeper = nil }
      return state.sleeper
    }
    sleeper?.task.cancel()
  }

  /// Makes the timer sleep until the earliest deadline.
  private func sleep(_ state: inout State) {
    guard let first = earliest(&state) else { return }
    if let sleeper = state.sleeper {
      guard first.instant < sleeper.instant else { return }
      sleeper.task.cancel()
    }
    let (clock, instant) = (clock, first.instant)
    let task = Task(executorPreference: executor) { [weak self] in
      guard (try? await clock.sleep(until: instant)) != nil else { return }
      await self?.wake(from: instant)
    }
    state.sleeper = (instant, task)
  }

  private func earliest(_ state: inout State) -> Entry? {
    while let first = state.heap.min, state.current[first.key] != first { state.heap.removeMin() }
    return state.heap.min
  }

  private func wake(from instant: Instant) async {
    let now = max(clock.now, instant)
    let (keys, handler) = state.withLockedValue { state -> ([Key], Handler?) in
      // An earlier deadline was set meanwhile, and another task sleeps until it.
      guard state.sleeper?.instant == instant else { return ([], nil) }
      state.sleeper = nil
      var keys: [Key] = []
      while let first = earliest(&state), first.instant <= now {
        state.heap.removeMin()
        state.current[first.key] = nil
        keys.append(first.key)
      }
      sleep(&state)
      return (keys, state.handler)
    }
    if !keys.isEmpty { await handler?(keys) }
  }
}
