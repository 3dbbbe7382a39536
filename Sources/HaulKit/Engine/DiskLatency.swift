import HaulCore
import NIOConcurrencyHelpers

/// Whether the disk was fast lately. A write into the page cache takes microseconds, unless there
/// are too many dirty pages or the file server is far away.
final class DiskLatency: Sendable {
  private static let slowThreshold: Duration = .milliseconds(50)
  /// How long no call runs in place after a slow one.
  private static let slowPeriod: Duration = .seconds(1)

  private let clock: any TransferClock
  private let slowUntil: NIOLockedValueBox<Instant>

  init(clock: any TransferClock) {
    self.clock = clock
    slowUntil = NIOLockedValueBox(clock.now)
  }

  /// The present time, if the disk is fast now.
  var nowIfFast: Instant? {
    let now = clock.now
    return slowUntil.withLockedValue { $0 <= now } ? now : nil
  }

  /// Calls `body` and notes its duration.
  func timing<Value>(
    _ body: () throws(TransferError) -> Value, since began: Instant
  ) throws(TransferError) -> Value {
    defer {
      let now = clock.now
      if now - began >= Self.slowThreshold {
        slowUntil.withLockedValue { $0 = now + Self.slowPeriod }
      }
    }
    return try body()
  }
}
