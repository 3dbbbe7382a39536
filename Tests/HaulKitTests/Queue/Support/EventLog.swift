import HaulCore
import HaulKit
import NIOConcurrencyHelpers
import Testing

/// All events of a manager from this moment until it has shut down. It wakes tasks that wait for
/// one.
final class EventLog: Sendable {
  typealias Condition = @Sendable (History) -> Bool

  /// The awaited event was not reported.
  struct NotReported: Error, CustomStringConvertible {
    let waiterName: String
    let history: History
    var description: String { "what \(waiterName) waits for was not reported, but \(history)" }
  }

  private struct State {
    var history = History()
    var hasEnded = false
    var waiting: [UInt64: (holds: Condition, waiter: CheckedContinuation<Bool, Never>)] = [:]
    var last: UInt64 = 0

    mutating func next() -> UInt64 {
      last += 1
      return last
    }
  }

  private let state: NIOLockedValueBox<State>
  private let reader: Task<Void, Never>

  /// Begins at once; ends when the manager has shut down.
  init(of manager: TransferManager) {
    let (state, events) = (NIOLockedValueBox(State()), manager.events())
    self.state = state
    reader = Task {
      for await event in events { Self.note(event, state) }
      Self.end(state)
    }
  }

  var history: History { state.withLockedValue { $0.history } }

  /// Everything, once the manager has shut down.
  func whole() async -> History {
    await reader.value
    return history
  }

  /// Returns when the events so far meet the condition.
  /// - Throws: `NotReported` when the manager has shut down, or the test's time is over.
  func wait(
    for waiterName: String = "the test", line: Int = #line, until holds: @escaping Condition
  ) async throws {
    let (number, state) = (state.withLockedValue { $0.next() }, state)
    let hasCome = await withTaskCancellationHandler {
      await withCheckedContinuation { (waiter: CheckedContinuation<Bool, Never>) in
        let known: Bool? = state.withLockedValue { state in
          if holds(state.history) { return true }
          if state.hasEnded || Task.isCancelled { return false }
          state.waiting[number] = (holds, waiter)
          return nil
        }
        if let known { waiter.resume(returning: known) }
      }
    } onCancel: {
      state.withLockedValue { $0.waiting.removeValue(forKey: number) }?
        .waiter.resume(returning: false)
    }
    guard hasCome else {
      throw NotReported(waiterName: "\(waiterName), line \(line),", history: history)
    }
  }

  private static func note(_ event: TransferEvent, _ state: NIOLockedValueBox<State>) {
    let woken = state.withLockedValue { state in
      state.history.events.append(event)
      let ready = state.waiting.filter { $0.value.holds(state.history) }
      for number in ready.keys { state.waiting[number] = nil }
      return ready.values.map(\.waiter)
    }
    for waiter in woken { waiter.resume(returning: true) }
  }

  private static func end(_ state: NIOLockedValueBox<State>) {
    let left = state.withLockedValue { state in
      state.hasEnded = true
      defer { state.waiting = [:] }
      return state.waiting.values.map(\.waiter)
    }
    for waiter in left { waiter.resume(returning: false) }
  }
}
