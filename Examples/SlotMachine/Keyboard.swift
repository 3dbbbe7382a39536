import Foundation

/// Keys as they are pressed, where standard input is a terminal; otherwise whatever comes.
enum Keyboard {
  /// Ends with `q`, and at the end of the input.
  static func keys() -> AsyncStream<UInt8> {
    AsyncStream { continuation in
      // A thread of its own: reading blocks.
      Thread.detachNewThread {
        let saved = takeSingleKeys()
        while case let key = getchar(), key != EOF, key != Int32(UInt8(ascii: "q")) {
          continuation.yield(UInt8(truncatingIfNeeded: key))
        }
        if var saved { tcsetattr(STDIN_FILENO, TCSANOW, &saved) }
        continuation.finish()
      }
    }
  }

  /// Without Return, and without showing them; what was so before, for a terminal.
  private static func takeSingleKeys() -> termios? {
    var saved = termios()
    guard tcgetattr(STDIN_FILENO, &saved) == 0 else { return nil }
    var single = saved
    single.c_lflag &= ~tcflag_t(ICANON | ECHO)
    return tcsetattr(STDIN_FILENO, TCSANOW, &single) == 0 ? saved : nil
  }
}
