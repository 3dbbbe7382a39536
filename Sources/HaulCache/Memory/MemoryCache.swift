import NIOConcurrencyHelpers

/// Values in memory within a cost limit, read and written on the calling thread.
///
/// A read is O(1) behind a lock, without a system call. When the limit is reached, entries that
/// were read once leave before those that were read again (S3-FIFO), so that scrolling through a
/// long list does not evict what is shown often.
public final class MemoryCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let state: NIOLockedValueBox<S3FIFO<Key, Value>>
  /// The most that all entries may cost.
  public let costLimit: Int

  /// An empty cache.
  /// - Parameter costLimit: the most that all entries may cost, in the unit of `insert`: usually
  ///   bytes.
  public init(costLimit: Int) {
    self.costLimit = costLimit
    state = NIOLockedValueBox(S3FIFO(costLimit: costLimit))
  }

  /// The number of entries.
  public var count: Int { state.withLockedValue { $0.count } }
  /// What all entries cost.
  public var cost: Int { state.withLockedValue { $0.cost } }

  /// The value of a key; nil if there is none.
  /// - Complexity: O(1).
  public func value(for key: Key) -> Value? { state.withLockedValue { $0.value(for: key) } }

  /// Inserts or replaces a value, whose cost is at least 1. It is not kept if it costs more than
  /// the limit.
  /// - Complexity: O(1) amortised.
  public func insert(_ value: Value, for key: Key, cost: Int) {
    // Evicted values are released after the lock, because that may run any code.
    _ = state.withLockedValue { $0.insert(value, for: key, cost: cost) }
  }

  /// Removes the value of a key.
  public func removeValue(for key: Key) {
    _ = state.withLockedValue { $0.removeValue(for: key) }
  }

  /// Removes everything and frees the storage.
  public func removeAll() { _ = state.withLockedValue { $0.removeAll() } }

  /// Evicts until the entries cost at most this fraction of the limit, from 0 to 1.
  public func trim(toFraction fraction: Double) {
    let target = Double(costLimit) * min(max(fraction, 0), 1)
    _ = state.withLockedValue { $0.trim(to: Int(target)) }
  }
}
