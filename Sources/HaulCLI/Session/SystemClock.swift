import FoundationEssentials
import HaulCore

/// The process's clock.
struct SystemClock: TransferClock {
  private let clock = ContinuousClock()
  private let start = ContinuousClock().now

  var now: Instant { Instant(start.duration(to: clock.now)) }
  var wallSeconds: Double { Date().timeIntervalSince1970 }

  func sleep(until instant: Instant) async throws {
    try await clock.sleep(until: start.advanced(by: instant.sinceStart))
  }
}
