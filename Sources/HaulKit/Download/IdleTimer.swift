import HaulCore
import NIOConcurrencyHelpers

/// Since when a connection is idle; nil while received bytes are processed.
final class IdleTimer: Sendable {
  private let since: NIOLockedValueBox<Instant?>

  init(since now: Instant) { since = NIOLockedValueBox(now) }

  func begin(at now: Instant) { since.withLockedValue { $0 = now } }
  func end() { since.withLockedValue { $0 = nil } }
  var start: Instant? { since.withLockedValue { $0 } }
}
