import HaulLibC

/// Asks for a password on the controlling terminal, which may differ from standard input.
enum PasswordPrompt {
  /// The password; nil when the process has no terminal.
  /// - Parameter subject: what needs it, for messages.
  static func ask(_ question: String, _ subject: String) throws(UsageError) -> String? {
    let descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { return nil }
    defer { _ = close(descriptor) }  // nothing can be lost
    var saved = termios()
    guard tcgetattr(descriptor, &saved) == 0 else { return nil }
    // Each key is read at once and sends no signal, so that the terminal is restored before the
    // process ends.
    var silent = saved
    silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
    // Nor does one of another process end it before that.
    let answer = Signals.noted { signals -> Answer? in
      guard tcsetattr(descriptor, TCSAFLUSH, &silent) == 0 else { return nil }
      show(Messages.shown(question), on: descriptor)
      let answer = readLine(from: descriptor, signals)
      tcsetattr(descriptor, TCSAFLUSH, &saved)
      show("\n", on: descriptor)
      return answer
    }
    guard let answer else { return nil }
    switch answer {
    case .line(let bytes): return String(decoding: bytes, as: UTF8.self)
    case .ended: throw UsageError("\(subject): no password was given")
    case .interrupted(let signal): Signals.die(of: signal)
    }
  }

  private enum Answer {
    case line([UInt8])
    case ended
    /// By a signal.
    case interrupted(Int32)
  }

  /// - Parameter signals: from which the numbers of signals are read.
  private static func readLine(from descriptor: Int32, _ signals: Int32) -> Answer {
    var bytes: [UInt8] = []
    while true {
      var pollers = [descriptor, signals].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard poll(&pollers, 2, -1) > 0 else { continue }  // a signal
      if pollers[1].revents != 0, let number = Signals.next(from: signals) {
        return .interrupted(number)
      }
      var byte: UInt8 = 0
      let count = read(descriptor, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1 else { return .ended }
      switch byte {
      case 0x0A, 0x0D: return .line(bytes)
      case 0x03, 0x1C: return .interrupted(SIGINT)  // Ctrl-C, Ctrl-\
      case 0x04 where bytes.isEmpty: return .ended  // Ctrl-D
      case 0x08, 0x7F: removeLastCharacter(&bytes)
      case 0x15: bytes = []  // Ctrl-U
      default: bytes.append(byte)
      }
    }
  }

  /// Removes all bytes of the last character (UTF-8).
  private static func removeLastCharacter(_ bytes: inout [UInt8]) {
    while let byte = bytes.popLast(), byte & 0xC0 == 0x80 {}
  }

  private static func show(_ text: String, on descriptor: Int32) {
    let bytes = Array(text.utf8)
    _ = write(descriptor, bytes, bytes.count)  // without the prompt, typing still works
  }
}
