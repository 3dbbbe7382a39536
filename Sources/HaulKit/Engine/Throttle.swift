package import HaulCore
import NIOConcurrencyHelpers

/// One rate limit that every connection of a manager shares.
package final class Throttle: Sendable {
  private let bucket: NIOLockedValueBox<TokenBucket>?
  private let clock: any TransferClock

  /// `rate` in bytes per second; nil for no limit.
  package init(rate: Int64?, clock: any TransferClock) {
    self.clock = clock
    bucket = rate.map { NIOLockedValueBox(TokenBucket(rate: $0, at: clock.now)) }
  }

  package var isLimited: Bool { bucket != nil }

  /// Waits until some of `bytes` may pass, and says how many.
  /// - Throws: `CancellationError`.
  package func take(upTo bytes: Int) async throws -> Int {
    guard let bucket else { return bytes }
    let now = clock.now
    let (granted, wait) = bucket.withLockedValue { $0.take(upTo: bytes, at: now) }
    if wait > .zero { try await clock.sleep(until: now + wait) }
    return granted
  }
}
