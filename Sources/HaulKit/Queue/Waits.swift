import HaulCore
import NIOConcurrencyHelpers

/// Who waits for something of the queue.
struct Waits: Sendable {
  /// Until nothing runs for a transfer.
  let stopped = WaitList<TransferID, Void>()
  /// Until a transfer has ended; nil when the manager has shut down before.
  let ended = WaitList<TransferID, TransferResult?>()
  /// Until every member of a group has ended; false when the manager has shut down before.
  let groups = WaitList<String, Bool>()
  /// Until nothing runs or waits for a slot.
  let empty = WaitList<Nothing, Void>()
  /// Until an addition with a key is stored, or was refused.
  let added = WaitList<String, Void>()

  struct Nothing: Hashable, Sendable {}

  func endAll() {
    stopped.resumeAll(())
    ended.resumeAll(nil)
    groups.resumeAll(false)
    empty.resumeAll(())
  }
}

/// Tasks that wait for a value under a key.
final class WaitList<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct State {
    var waiting: [Key: [UInt64: CheckedContinuation<Value?, Never>]] = [:]
    var last: UInt64 = 0
  }

  private let state = NIOLockedValueBox(State())

  /// The next value for the key, also in a task that is cancelled.
  @discardableResult
  func value(
    for key: Key, isolation: isolated (any Actor)? = #isolation
  ) async -> Value? {
    let number = nextNumber()
    return await withCheckedContinuation { continuation in
      state.withLockedValue { $0.waiting[key, default: [:]][number] = continuation }
    }
  }

  /// The next value for the key; nil at once when the task is cancelled.
  func valueUnlessCancelled(
    for key: Key, isolation: isolated (any Actor)? = #isolation
  ) async -> Value? {
    let number = nextNumber()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isCancelled = state.withLockedValue { state in
          guard !Task.isCancelled else { return true }
          state.waiting[key, default: [:]][number] = continuation
          return false
        }
        if isCancelled { continuation.resume(returning: nil) }
      }
    } onCancel: {
      let waiter = state.withLockedValue { $0.waiting[key]?.removeValue(forKey: number) }
      waiter?.resume(returning: nil)
    }
  }

  func resume(_ key: Key, _ value: Value) {
    let waiters = state.withLockedValue { $0.waiting.removeValue(forKey: key) } ?? [:]
    // First come, first told.
    for (_, waiter) in waiters.sorted(by: { $0.key < $1.key }) { waiter.resume(returning: value) }
  }

  func resumeAll(_ value: Value) {
    let waiters = state.withLockedValue { state in
      defer { state.waiting = [:] }
      return state.waiting.values.flatMap { $0.map { (number: $0.key, waiter: $0.value) } }
    }
    for (_, waiter) in waiters.sorted(by: { $0.number < $1.number }) {
      waiter.resume(returning: value)
    }
  }

  private func nextNumber() -> UInt64 {
    state.withLockedValue { state in
      state.last += 1
      return state.last
    }
  }
}
