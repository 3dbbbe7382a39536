import FoundationEssentials
package import HaulCore

/// The machine's own clocks.
package struct SystemClock: TransferClock {
  private let start = ContinuousClock.now

  package init() {}

  package var now: Instant { Instant(ContinuousClock.now - start) }

  package var wallSeconds: Double { Date().timeIntervalSince1970 }

  package func sleep(until instant: Instant) async throws {
    try await Task.sleep(until: start + instant.sinceStart, clock: .continuous)
  }
}
