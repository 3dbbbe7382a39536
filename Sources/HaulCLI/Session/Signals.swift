import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// SIGINT and SIGTERM as a stream: the first asks to end, a second ends the process at once.
struct Signals: Sendable {
  let interruptions: AsyncStream<Interruption>

  /// Takes both signals over. To be called on the main thread before there are others: a thread
  /// inherits which signals it leaves to `sigwait`.
  static func takeOver() -> Signals {
    signal(SIGPIPE, SIG_IGN)
    var awaited = sigset_t()
    sigemptyset(&awaited)
    sigaddset(&awaited, SIGINT)
    sigaddset(&awaited, SIGTERM)
    pthread_sigmask(SIG_BLOCK, &awaited, nil)
    let (stream, continuation) = AsyncStream.makeStream(of: Interruption.self)
    let set = awaited
    DispatchQueue(label: "haul.signals").async {
      var isFirst = true
      while true {
        var set = set
        var number: Int32 = 0
        guard sigwait(&set, &number) == 0 else { continue }
        guard isFirst else { _exit(128 + number) }
        isFirst = false
        continuation.yield(number == SIGINT ? .interrupt : .terminate)
      }
    }
    return Signals(interruptions: stream)
  }
}
