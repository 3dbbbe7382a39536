import FoundationEssentials
import HaulCore

/// The machine's own clocks.
struct SystemClock: TransferClock {
  private let start = ContinuousClock.now

  var now: Instant { Instant(ContinuousClock.now - start) }

  var wallSeconds: Double { Date().timeIntervalSince1970 }

  func sleep(until instant: Instant) async throws {
    try await Task.sleep(until: start + instant.sinceStart, clock: .continuous)
  }
}
