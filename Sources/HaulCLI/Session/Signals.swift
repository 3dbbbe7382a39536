import Dispatch
package import HaulCore
import HaulKit
import HaulLibC

/// SIGINT, SIGTERM and SIGHUP as a stream; those ignored at the start (`nohup`) stay ignored. The
/// process ends at the second signal or one second after the first (later after a SIGTERM that
/// drains), and at once for SIGQUIT. The same signal again at once is the first one: see
/// `FirstSignal`.
///
/// It uses a handler and a pipe, not `sigwait`. The runtime's main thread waits in `sigsuspend`
/// with no signal blocked, where a signal without a handler would end the process.
package struct Signals: Sendable {
  package let interruptions: AsyncStream<Interruption>

  /// Installs the handlers, and ignores SIGPIPE: `EPIPE` reports a lost reader.
  /// - Parameter drain: how much longer the end may take after SIGTERM; nil if nothing is drained.
  package static func takeOver(draining drain: Duration? = nil) -> Signals {
    let (stream, continuation) = AsyncStream.makeStream(of: Interruption.self)
    signal(SIGPIPE, SIG_IGN)
    let reader = signalPipe.reader
    if reader >= 0 {
      DispatchQueue(label: "haul.signals").async { forward(from: reader, to: continuation, drain) }
      for number in [SIGINT, SIGTERM, SIGHUP] { handle(number, note) }
    }
    return Signals(interruptions: stream)
  }

  private static func forward(
    from reader: Int32, to continuation: AsyncStream<Interruption>.Continuation,
    _ drain: Duration?
  ) {
    guard let number = next(from: reader), let cause = Interruption(signal: number) else {
      return
    }
    // One clock: the instants of each begin at its own zero.
    let clock = SystemClock()
    let first = FirstSignal(number, at: clock.now, draining: drain)
    continuation.yield(cause)
    while let left = first.timeLeft(at: clock.now) {
      var poller = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
      guard poll(&poller, 1, left) > 0, let next = next(from: reader) else { continue }
      if first.endsNow(with: next, at: clock.now) { die(of: next) }
    }
    if number == SIGTERM, drain != nil { _exit(ExitStatus.tryAgain.rawValue) }
    die(of: number)
  }

  static func die(of signal: Int32) -> Never {
    if signal == SIGINT { dieOfInterrupt() }
    _exit(128 + signal)
  }

  /// Ends the process with this status; after SIGINT it dies of that signal. bash ends a script or
  /// a loop only then: it looks at how a program ended, not at the number 130.
  package static func exit(with status: Int32) -> Never {
    if status == ExitStatus.interrupted.rawValue { dieOfInterrupt() }
    HaulLibC.exit(status)
  }

  private static func dieOfInterrupt() {
    fflush(nil)
    signal(SIGINT, SIG_DFL)
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGINT)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
    raise(SIGINT)
  }

  static func next(from reader: Int32) -> Int32? {
    var number: UInt8 = 0
    while true {
      let count = read(reader, &number, 1)
      if count < 0, errno == EINTR { continue }
      return count == 1 ? Int32(number) : nil
    }
  }

  /// What holds from the first moment. SIGQUIT ends the process silently: the Swift runtime's own
  /// handler takes seconds to write a report. Until `takeOver`, SIGTERM to a worker ends it with
  /// the status that leaves everything to another run.
  /// - Parameter arguments: nothing else is known then.
  static func begin(_ arguments: [[UInt8]]) {
    handle(SIGQUIT) { _ in _exit(128 + SIGQUIT) }
    if arguments.contains(where: { $0.elementsEqual("--worker".utf8) }) {
      handle(SIGTERM) { _ in _exit(ExitStatus.tryAgain.rawValue) }
    }
  }

  /// Notes the signals that end a process while `body` runs, in place of what they do.
  /// - Parameter body: gets a descriptor from which `next` reads their numbers.
  static func noted<Value>(while body: (Int32) -> Value) -> Value {
    guard signalPipe.reader >= 0 else { return body(-1) }
    let formers = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].map { ($0, handle($0, note)) }
    defer { for (number, former) in formers { signal(number, former) } }
    return body(signalPipe.reader)
  }

  /// For a process that outlives its terminal.
  static func ignoreHangUp() { signal(SIGHUP, SIG_IGN) }

  /// - Returns: the former handler.
  @discardableResult
  private static func handle(
    _ number: Int32, _ handler: @escaping @convention(c) (Int32) -> Void
  ) -> (@convention(c) (Int32) -> Void)? {
    let former = signal(number, handler)
    // `SIG_IGN` is the number 1 and not a function, so it is compared as a number.
    if unsafeBitCast(former, to: Int.self) == 1 { signal(number, SIG_IGN) }
    return former
  }
}

/// The signal that requested the end, and what follows it.
///
/// `timeout` of coreutils signals its child and then its process group, so that the child gets the
/// same signal twice within microseconds.
package struct FirstSignal: Sendable {
  private static let repetition: Duration = .milliseconds(200)
  /// After this time the process ends in any case.
  private static let maximumEnd: Duration = .milliseconds(950)

  private let number: Int32
  private let instant: Instant
  private let maximumEnd: Duration

  /// - Parameter drain: how much longer the end may take after SIGTERM.
  package init(_ number: Int32, at instant: Instant, draining drain: Duration? = nil) {
    (self.number, self.instant) = (number, instant)
    maximumEnd = Self.maximumEnd + (number == SIGTERM ? drain ?? .zero : .zero)
  }

  /// Whether another signal ends the process at once.
  package func endsNow(with number: Int32, at now: Instant) -> Bool {
    number != self.number || now - instant >= Self.repetition
  }

  /// The milliseconds until it ends in any case; nil when they are over.
  package func timeLeft(at now: Instant) -> Int32? {
    let left = maximumEnd - (now - instant)
    return left > .zero ? Int32(clamping: Int64((left / .milliseconds(1)).rounded(.up))) : nil
  }
}

extension Interruption {
  /// The interruption for a signal; nil for signals that are not handled.
  init?(signal: Int32) {
    switch signal {
    case SIGINT: self = .interrupt
    case SIGTERM: self = .terminate
    case SIGHUP: self = .hangUp
    default: return nil
    }
  }
}

/// Created before a handler is installed. Without a free descriptor, both ends are -1, and signals
/// end the process as by default.
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
