import DequeModule
import HaulCore

/// Bytes per second over the last five seconds.
struct RateMeter: Sendable {
  private static let window: Duration = .seconds(5)
  private var samples: Deque<(instant: Instant, bytes: Int64)> = []

  /// Notes that `bytes` have been received in total.
  mutating func note(_ bytes: Int64, at now: Instant) {
    samples.append((now, bytes))
    while samples.count > 2, now - samples[1].instant >= Self.window { samples.removeFirst() }
  }

  var rate: Double {
    guard let first = samples.first, let last = samples.last else { return 0 }
    let seconds = (last.instant - first.instant) / .seconds(1)
    return seconds > 0 ? Double(last.bytes - first.bytes) / seconds : 0
  }
}
