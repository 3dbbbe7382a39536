import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// SIGINT, SIGTERM and SIGHUP as a stream: the first asks the run to end; a second one, or one
/// second, ends the process. SIGQUIT ends it at once. Signals that were ignored at the start, as
/// with `nohup`, stay ignored.
///
/// It uses a handler and a pipe, not `sigwait`: the runtime's main thread waits in `sigsuspend`
/// with no signal blocked, so a blocked signal would end the process there.
package struct Signals: Sendable {
  package let interruptions: AsyncStream<Interruption>

  /// Installs the handlers, and ignores SIGPIPE: `EPIPE` reports a lost reader.
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

  /// In milliseconds: the process has ended by then, whatever it waits for.
  private static let longestEnd: Int32 = 950

  private static func nextSignal(from reader: Int32) -> Int32? {
    var number: UInt8 = 0
    while true {
      let count = read(reader, &number, 1)
      if count < 0, errno == EINTR { continue }
      return count == 1 ? Int32(number) : nil
    }
  }

  /// Lets SIGQUIT end the process silently: the runtime's own handler takes seconds for a report,
  /// and continues.
  static func quitAtOnce() {
    handle(SIGQUIT) { _ in _exit(128 + SIGQUIT) }
  }

  private static func handle(
    _ number: Int32, _ handler: @escaping @convention(c) (Int32) -> Void
  ) {
    let former = signal(number, handler)
    // The constant is a number, not a function that could be compared.
    if unsafeBitCast(former, to: Int.self) == 1 { signal(number, SIG_IGN) }
  }
}

/// Created before a handler is installed; both ends are -1 without a free descriptor, and signals
/// then end the process as by default.
private let signalPipe: (reader: Int32, writer: Int32) = {
  var ends: [Int32] = [-1, -1]
  guard pipe(&ends) == 0 else { return (-1, -1) }
  for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }  // cannot fail on an open descriptor
  _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
  return (ends[0], ends[1])
}()

/// The handler: calls only async-signal-safe functions, and restores `errno`.
private func note(_ number: Int32) {
  let saved = errno
  var byte = UInt8(truncatingIfNeeded: number)
  _ = write(signalPipe.writer, &byte, 1)  // a full pipe holds enough signals already
  errno = saved
}
