import HaulCore
import NIOConcurrencyHelpers

/// Whether the disk has been prompt: a write into the page cache takes microseconds, until there
/// are too many dirty pages, or until a server of files is far away.
final class DiskLatency: Sendable {
  private static let slow: Duration = .milliseconds(50)
  /// How long nothing waits in place after a slow call.
  private static let caution: Duration = .seconds(1)

  private let clock: any TransferClock
  private let cautiousUntil: NIOLockedValueBox<Instant>

  init(clock: any TransferClock) {
    self.clock = clock
    cautiousUntil = NIOLockedValueBox(clock.now)
  }

  /// The time, if it is prompt now.
  var promptNow: Instant? {
    let now = clock.now
    return cautiousUntil.withLockedValue { $0 <= now } ? now : nil
  }

  /// Carries `body` out and notes how long it took.
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
