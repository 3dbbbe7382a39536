import NIOConcurrencyHelpers

/// Tasks that wait for a value under a key.
///
/// A waiter is registered before its first suspension, so a `resume` between a check and the wait
/// is not lost.
package final class ContinuationList<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private typealias Waiter = CheckedContinuation<Value?, Never>

  private struct State {
    /// Nil for a waiter that is registered but has not suspended yet.
    var waiting: [Key: [UInt64: Waiter?]] = [:]
    /// Values for waiters that were resumed before they suspended.
    var earlyValues: [UInt64: Value?] = [:]
    var last: UInt64 = 0

    mutating func expect(_ key: Key) -> UInt64 {
      last += 1
      waiting[key, default: [:]].updateValue(nil, forKey: last)
      return last
    }

    /// Removes a waiter; nil when it is no longer registered.
    mutating func remove(_ number: UInt64, of key: Key) -> Waiter?? {
      guard let waiter = waiting[key]?.removeValue(forKey: number) else { return nil }
      if waiting[key]?.isEmpty == true { waiting[key] = nil }
      return waiter
    }

    /// The continuation to resume with this value, for a removed waiter; nil when it has not
    /// suspended yet and will find the value itself.
    mutating func deliver(_ number: UInt64, _ waiter: Waiter?, _ value: Value?) -> Waiter? {
      if waiter == nil { earlyValues.updateValue(value, forKey: number) }
      return waiter
    }
  }

  private let state = NIOLockedValueBox(State())

  package init() {}

  /// The next value for the key, even when the task is cancelled.
  @discardableResult
  package func value(
    for key: Key, isolation: isolated (any Actor)? = #isolation
  ) async -> Value? {
    let number = state.withLockedValue { $0.expect(key) }
    return await withCheckedContinuation { wait(number, for: key, $0) }
  }

  /// The next value for the key; nil at once when the task is cancelled.
  package func valueUnlessCancelled(
    for key: Key, isolation: isolated (any Actor)? = #isolation
  ) async -> Value? {
    let number = state.withLockedValue { $0.expect(key) }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { wait(number, for: key, $0) }
    } onCancel: {
      let waiter = state.withLockedValue { state -> Waiter? in
        guard let waiter = state.remove(number, of: key) else { return nil }
        return state.deliver(number, waiter, nil)
      }
      waiter?.resume(returning: nil)
    }
  }

  /// Whether there are no waiters.
  package var isEmpty: Bool { state.withLockedValue { $0.waiting.isEmpty } }

  package func resume(_ key: Key, _ value: Value) {
    let waiters = state.withLockedValue { state -> [Waiter] in
      // Usually there are no waiters.
      guard !state.waiting.isEmpty else { return [] }
      // In order of arrival.
      return (state.waiting.removeValue(forKey: key) ?? [:]).sorted { $0.key < $1.key }
        .compactMap { state.deliver($0.key, $0.value, value) }
    }
    for waiter in waiters { waiter.resume(returning: value) }
  }

  package func resumeAll(_ value: Value) {
    let waiters = state.withLockedValue { state in
      defer { state.waiting = [:] }
      return state.waiting.values.joined().sorted { $0.key < $1.key }
        .compactMap { state.deliver($0.key, $0.value, value) }
    }
    for waiter in waiters { waiter.resume(returning: value) }
  }

  private func wait(_ number: UInt64, for key: Key, _ waiter: Waiter) {
    let earlyValue: Value?? = state.withLockedValue { state in
      if let earlyValue = state.earlyValues.removeValue(forKey: number) { return earlyValue }
      state.waiting[key]?.updateValue(waiter, forKey: number)
      return nil
    }
    if let earlyValue { waiter.resume(returning: earlyValue) }
  }
}
