import Foundation

/// Single keys from standard input, and one line that is drawn again in its place.
enum Terminal {
  private static let isTerminal = isatty(STDOUT_FILENO) == 1

  static func show(_ line: String) {
    let text = isTerminal ? "\r\(line)\u{1B}[K" : "\(line)\n"
    // `print` would need `fflush`, which waits for the lock that the reading thread holds.
    FileHandle.standardOutput.write(Data(text.utf8))
  }

  /// Ends with `q`, and at the end of the input.
  static func keys() -> AsyncStream<UInt8> {
    AsyncStream { continuation in
      // A thread of its own, because reading blocks.
      Thread.detachNewThread {
        let saved = readSingleKeys()
        while case let key = getchar(), key != EOF, key != Int32(UInt8(ascii: "q")) {
          continuation.yield(UInt8(truncatingIfNeeded: key))
        }
        if var saved { tcsetattr(STDIN_FILENO, TCSANOW, &saved) }
        continuation.finish()
      }
    }
  }

  /// Delivers keys without Return and without echo; returns the former settings of a terminal.
  private static func readSingleKeys() -> termios? {
    var saved = termios()
    guard tcgetattr(STDIN_FILENO, &saved) == 0 else { return nil }
    var single = saved
    single.c_lflag &= ~tcflag_t(ICANON | ECHO)
    return tcsetattr(STDIN_FILENO, TCSANOW, &single) == 0 ? saved : nil
  }
}
