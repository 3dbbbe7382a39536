import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// SIGINT and SIGTERM as a stream: the first asks to end, a second ends the process at once.
///
/// A handler and a pipe, not `sigwait`: the runtime's main thread waits in `sigsuspend` with no
/// signal blocked, so that a blocked signal would end the process there.
package struct Signals: Sendable {
  package let interruptions: AsyncStream<Interruption>

  /// Takes both signals over, and ignores SIGPIPE: a lost reader is told by `EPIPE`.
  package static func takeOver() -> Signals {
    let (stream, continuation) = AsyncStream.makeStream(of: Interruption.self)
    signal(SIGPIPE, SIG_IGN)
    let reader = signalPipe.reader
    if reader >= 0 {
      DispatchQueue(label: "haul.signals").async { forward(from: reader, to: continuation) }
      for number in [SIGINT, SIGTERM] { signal(number, note) }
    }
    return Signals(interruptions: stream)
  }

  private static func forward(
    from reader: Int32, to continuation: AsyncStream<Interruption>.Continuation
  ) {
    var isFirst = true
    while true {
      var number: UInt8 = 0
      let count = read(reader, &number, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1 else { return }
      guard isFirst else { _exit(128 + Int32(number)) }
      isFirst = false
      continuation.yield(Int32(number) == SIGINT ? .interrupt : .terminate)
    }
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
