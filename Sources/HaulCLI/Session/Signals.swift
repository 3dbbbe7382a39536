import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// SIGINT, SIGTERM and SIGHUP as a stream: the first asks to end, a second ends the process at
/// once, and so does a second of time. SIGQUIT ends it at once. Signals that are ignored when it
/// starts, as `nohup` has it, stay ignored.
///
/// A handler and a pipe, not `sigwait`: the runtime's main thread waits in `sigsuspend` with no
/// signal blocked, so that a blocked signal would end the process there.
package struct Signals: Sendable {
  package let interruptions: AsyncStream<Interruption>

  /// Takes the signals over, and ignores SIGPIPE: `EPIPE` reports a lost reader.
  package static func takeOver() -> Signals {
    let (stream, continuation) = AsyncStream.makeStream(of: Interruption.self)
    signal(SIGPIPE, SIG_IGN)
    let reader = signalPipe.reader
    if reader >= 0 {
      DispatchQueue(label: "haul.signals").async { forward(from: reader, to: continuation) }
      for number in [SIGINT, SIGTERM, SIGHUP] { handle(number, note) }
    }
    return Signals(interruptions: stream)
  }

  private static func forward(
    from reader: Int32, to continuation: AsyncStream<Interruption>.Continuation
  ) {
    guard let number = nextSignal(from: reader), let cause = Interruption(signal: number) else {
      return
    }
    continuation.yield(cause)
    var poller = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
    let isSecond = poll(&poller, 1, longestEnd) > 0
    _exit(128 + (isSecond ? nextSignal(from: reader) ?? number : number))
  }

  /// In milliseconds: whatever it waits for, it has ended by then.
  private static let longestEnd: Int32 = 950

  private static func nextSignal(from reader: Int32) -> Int32? {
    var number: UInt8 = 0
    while true {
      let count = read(reader, &number, 1)
      if count < 0, errno == EINTR { continue }
      return count == 1 ? Int32(number) : nil
    }
  }

  /// Has SIGQUIT end the process without a word: the runtime's own handler takes seconds for a
  /// report, and goes on.
  static func quitAtOnce() {
    handle(SIGQUIT) { _ in _exit(128 + SIGQUIT) }
  }

  private static func handle(
    _ number: Int32, _ handler: @escaping @convention(c) (Int32) -> Void
  ) {
    let former = signal(number, handler)
    // The constant is a number, which is no function to compare with.
    if unsafeBitCast(former, to: Int.self) == 1 { signal(number, SIG_IGN) }
  }
}

/// Made before a handler is installed; both ends are -1 when there is no descriptor left, and the
/// signals then end the process as they do by default.
private let signalPipe: (reader: Int32, writer: Int32) = {
  var ends: [Int32] = [-1, -1]
  guard pipe(&ends) == 0 else { return (-1, -1) }
  for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }  // cannot fail on an open descriptor
  _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
  return (ends[0], ends[1])
}()

/// The handler: only what is safe in one, and it leaves `errno` as it was.
private func note(_ number: Int32) {
  let saved = errno
  var byte = UInt8(truncatingIfNeeded: number)
  _ = write(signalPipe.writer, &byte, 1)  // a full pipe holds enough signals already
  errno = saved
}
