import FoundationEssentials
package import HaulCore

/// The machine's own clocks.
package struct SystemClock: TransferClock {
  private let start = ContinuousClock.now

  package init() {}

  package var now: Instant { Instant(ContinuousClock.now - start) }

  package var wallSeconds: Double { Date().timeIntervalSince1970 }

  /// A wait that ends much too late means that the process was stopped (Ctrl-Z) or the machine
  /// slept. The bytes that arrived meanwhile are read before anyone measures how long none came.
  package func sleep(until instant: Instant) async throws {
    try await Task.sleep(until: start + instant.sinceStart, clock: .continuous)
    if now - instant > .seconds(1) { try await Task.sleep(for: .milliseconds(100)) }
  }
}
