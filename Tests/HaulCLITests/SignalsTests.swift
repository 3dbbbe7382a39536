import HaulCLI
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("SIGINT and SIGTERM") struct SignalsTests {
  @Test("the first signal requests an end, but does not end the process")
  func first() async {
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

  @Test("a run that was interrupted dies of the signal, so that a loop of bash ends too")
  func diesOfInterrupt() async {
    await #expect(processExitsWith: .signal(SIGINT)) {
      _ = Signals.takeOver()
      Signals.exit(with: 130)
    }
    await #expect(processExitsWith: .exitCode(143)) { Signals.exit(with: 143) }
  }

  @Test("a second signal ends the process at once with its status")
  func second() async {
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

  @Test("a lost reader does not end the process")
  func pipe() async {
    await #expect(processExitsWith: .exitCode(7)) {
      _ = Signals.takeOver()
      kill(getpid(), SIGPIPE)
      exit(7)
    }
  }
}
