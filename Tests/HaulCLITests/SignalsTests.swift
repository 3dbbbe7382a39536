import HaulCLI
import HaulCore
import HaulLibC
import Testing

/// SIGINT and SIGTERM.
@Suite struct SignalsTests {
  @Test func `the first signal requests an end, but does not end the process`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let signals = Signals.takeOver()
      kill(getpid(), SIGTERM)
      for await cause in signals.interruptions { exit(cause == .terminate ? 7 : 1) }
    }
    await #expect(processExitsWith: .exitCode(7)) {
      let signals = Signals.takeOver()
      kill(getpid(), SIGINT)
      for await cause in signals.interruptions { exit(cause == .interrupt ? 7 : 1) }
    }
  }

  @Test
  func `a run that was interrupted dies of the signal, so that a loop of bash ends too`() async {
    await #expect(processExitsWith: .signal(SIGINT)) {
      _ = Signals.takeOver()
      Signals.exit(with: 130)
    }
    await #expect(processExitsWith: .exitCode(143)) { Signals.exit(with: 143) }
  }

  @Test func `a second signal ends the process at once with its status`() async {
    await #expect(processExitsWith: .signal(SIGINT)) {
      let signals = Signals.takeOver()
      kill(getpid(), SIGTERM)
      for await _ in signals.interruptions {
        kill(getpid(), SIGINT)
        while true { pause() }
      }
    }
    await #expect(processExitsWith: .exitCode(143)) {
      let signals = Signals.takeOver()
      kill(getpid(), SIGINT)
      for await _ in signals.interruptions {
        kill(getpid(), SIGTERM)
        while true { pause() }
      }
    }
  }

  @Test func `the same signal within 200 ms is the first one, as timeout(1) sends it twice`() {
    let start = Instant(.seconds(5))
    let first = FirstSignal(SIGTERM, at: start)
    #expect(!first.endsNow(with: SIGTERM, at: start))
    #expect(!first.endsNow(with: SIGTERM, at: start + .milliseconds(199)))
    #expect(first.endsNow(with: SIGTERM, at: start + .milliseconds(200)))
    #expect(first.endsNow(with: SIGINT, at: start))
    #expect(first.timeLeft(at: start) == 950)
    #expect(first.timeLeft(at: start + .milliseconds(949.5)) == 1)
    #expect(first.timeLeft(at: start + .milliseconds(950)) == nil)
  }

  @Test func `SIGTERM leaves the time to drain, and another signal ends that too`() {
    let start = Instant(.seconds(5))
    let first = FirstSignal(SIGTERM, at: start, draining: .seconds(25))
    #expect(first.timeLeft(at: start) == 25_950)
    #expect(first.timeLeft(at: start + .milliseconds(25_950)) == nil)
    #expect(first.endsNow(with: SIGTERM, at: start + .seconds(1)))
    #expect(FirstSignal(SIGINT, at: start, draining: .seconds(25)).timeLeft(at: start) == 950)
    let long = FirstSignal(SIGTERM, at: start, draining: .seconds(86_400 * 365))
    #expect(long.timeLeft(at: start) == .max)
  }

  @Test func `a lost reader does not end the process`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      _ = Signals.takeOver()
      kill(getpid(), SIGPIPE)
      exit(7)
    }
  }
}
