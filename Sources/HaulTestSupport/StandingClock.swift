package import HaulCore

/// A clock at which no time ever passes: who waits for a later instant is only freed by cancellation.
package struct StandingClock: TransferClock {
  package let now = Instant()
  package let wallSeconds: Double = 0

  package init() {}

  package func sleep(until instant: Instant) async throws {
    guard instant > now else { return }
    let (never, continuation) = AsyncStream.makeStream(of: Never.self)
    for await _ in never {}
    withExtendedLifetime(continuation) {}
    try Task.checkCancellation()
  }
}
