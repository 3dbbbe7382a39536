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

  @Test("a second signal ends the process at once with its status")
  func second() async {
    await #expect(processExitsWith: .exitCode(130)) {
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
