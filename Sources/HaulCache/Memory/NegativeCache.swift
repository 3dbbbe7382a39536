/// Failures that are not tried again for a while, as a value.
///
/// Each further failure of a key doubles its wait. The number of keys is bounded. A purge of values
/// keeps the failures, because otherwise it would start them all again.
package struct NegativeCache<Key: Hashable & Sendable, Reason: Sendable>: Sendable {
  /// One failure and how long it holds; times are wall time in seconds since 1970.
  package struct Failure: Sendable {
    package let reason: Reason
    package let notedAt: Double
    package let retryAt: Double
    /// Failures in a row.
    package let count: Int
  }

  /// Waits in seconds.
  package struct Waits: Hashable, Sendable {
    package var first: Double
    package var maximum: Double

    package init(first: Double, maximum: Double) {
      self.first = max(first, 0)
      self.maximum = max(maximum, self.first)
    }

    /// The wait after so many failures in a row.
    package func wait(after count: Int) -> Double {
      var wait = first
      for _ in 1..<max(count, 1) where wait < maximum { wait *= 2 }
      return min(wait, maximum)
    }
  }

  private var failures: S3FIFO<Key, Failure>

  package init(limit: Int) { failures = S3FIFO(costLimit: limit) }

  package var count: Int { failures.count }

  /// The failure that still holds. None holds longer than it was noted for, also when the clock was
  /// set back.
  package mutating func failure(of key: Key, at now: Double) -> Failure? {
    guard failures.count > 0, let failure = failures.value(for: key), now < failure.retryAt,
      now >= failure.notedAt
    else { return nil }
    return failure
  }

  /// Notes a failure.
  /// - Parameters:
  ///   - wait: in place of the wait that grows.
  ///   - pause: that the server asked for; it may lengthen the wait.
  package mutating func note(
    _ reason: Reason, of key: Key, at now: Double, waits: Waits, wait: Double? = nil,
    atLeast pause: Double = 0
  ) -> Failure {
    // After a long quiet time the count begins again.
    let previous = failures.value(for: key).flatMap { last in
      now >= last.notedAt && now < last.retryAt + waits.maximum ? last.count : nil
    }
    let count = (previous ?? 0) + 1
    let wait = max(wait ?? waits.wait(after: count), pause)
    let failure = Failure(reason: reason, notedAt: now, retryAt: now + wait, count: count)
    _ = failures.insert(failure, for: key, cost: 1)
    return failure
  }

  package mutating func remove(_ key: Key) {
    if failures.count > 0 { _ = failures.removeValue(for: key) }
  }

  package mutating func removeAll() { _ = failures.removeAll() }
}
