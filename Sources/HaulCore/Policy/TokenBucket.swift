/// A rate limit shared by many takers, exact in the long run.
///
/// A taker gets its bytes at once, with the time to wait before it uses them. The bucket goes into
/// debt, and the next taker waits longer. So takers are served in order.
package struct TokenBucket: Sendable {
  /// Bytes per second; nil for no limit.
  package private(set) var rate: Int64?
  /// Bytes times nanoseconds per second: credit or, below zero, debt. Integers do not drift.
  private var credit: Int128 = 0
  private var updated: Instant

  /// A bucket that is full at `now`.
  package init(rate: Int64?, at now: Instant) {
    self.rate = rate.map { max($0, 1) }
    updated = now
    credit = Int128(capacity) * Self.unit
  }

  /// Takes up to `bytes`, at least one: use `granted` bytes after `wait`, then take the rest.
  ///
  /// One grant is at most the bucket's capacity, so that large requests do not delay other takers.
  package mutating func take(upTo bytes: Int, at now: Instant) -> (granted: Int, wait: Duration) {
    guard let rate, bytes > 0 else { return (max(bytes, 0), .zero) }
    refill(at: now)
    let granted = min(bytes, capacity)
    credit -= Int128(granted) * Self.unit
    guard credit < 0 else { return (granted, .zero) }
    // Rounded up: a nanosecond too early would exceed the rate.
    let nanoseconds = (-credit + Int128(rate) - 1) / Int128(rate)
    return (granted, .nanoseconds(Int64(clamping: nanoseconds)))
  }

  /// The time until this many bytes can be taken without waiting. They are reserved, beyond the
  /// capacity if needed, so that a slightly late taker loses nothing.
  package mutating func delay(of bytes: Int, at now: Instant) -> Duration {
    guard let rate, bytes > 0 else { return .zero }
    refill(at: now, saving: bytes)
    let missing = Int128(bytes) * Self.unit - credit
    guard missing > 0 else { return .zero }
    return .nanoseconds(Int64(clamping: (missing + Int128(rate) - 1) / Int128(rate)))
  }

  /// Changes the rate from now on; a debt at the old rate is cut to one grant of the new rate.
  package mutating func setRate(_ newRate: Int64?, at now: Instant) {
    refill(at: now)
    rate = newRate.map { max($0, 1) }
    let bound = Int128(capacity) * Self.unit
    credit = max(-bound, min(credit, bound))
  }

  /// The burst after idling, in bytes: 50 ms worth, at least 16 KiB, but at most 150 ms worth. The
  /// last limit keeps any 10 s within 2 % of the rate, even for low rates.
  package var capacity: Int {
    guard let rate else { return 0 }
    let smallest = min(16 << 10, max(rate / 20 * 3, 1))
    return Int(clamping: max(rate / 20, smallest))
  }

  private mutating func refill(at now: Instant, saving bytes: Int = 0) {
    // Threads may read the clock in another order than they arrive here.
    guard now > updated else { return }
    defer { updated = now }
    guard let rate else { return }
    let parts = (now - updated).components
    let nanoseconds =
      Int128(parts.seconds) * Self.unit + Int128(parts.attoseconds / 1_000_000_000)
    let most = max(Int128(capacity) + Int128(bytes), 0) * Self.unit
    // Credit that was reserved for another taker stays.
    credit = max(credit, min(credit + nanoseconds * Int128(rate), most))
  }

  private static let unit: Int128 = 1_000_000_000
}
