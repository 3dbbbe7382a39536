import HaulCore
import NIOConcurrencyHelpers

/// Whether the disk has been fast: a write into the page cache takes microseconds, unless there are
/// too many dirty pages or the file server is far away.
final class DiskLatency: Sendable {
  private static let slow: Duration = .milliseconds(50)
  /// How long no call runs in place after a slow one.
  private static let caution: Duration = .seconds(1)

  private let clock: any TransferClock
  private let cautiousUntil: NIOLockedValueBox<Instant>

  init(clock: any TransferClock) {
    self.clock = clock
    cautiousUntil = NIOLockedValueBox(clock.now)
  }

  /// The time, if the disk is fast now.
  var promptNow: Instant? {
    let now = clock.now
    return cautiousUntil.withLockedValue { $0 <= now } ? now : nil
  }

  /// Calls `body` and notes how long it took.
  func timing<Value>(
    _ body: () throws(TransferError) -> Value, since began: Instant
  ) throws(TransferError) -> Value {
    defer {
      let now = clock.now
      if now - began >= Self.slow {
        cautiousUntil.withLockedValue { $0 = now + Self.caution }
      }
    }
    return try body()
  }
}
