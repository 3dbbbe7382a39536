#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Lines that a waiting program must see at once: a pipe's buffer would keep them.
enum StandardOutput {
  static func writeLine(_ line: String) throws {
    let bytes = Array((line + "\n").utf8)
    guard write(STDOUT_FILENO, bytes, bytes.count) == bytes.count else {
      throw SystemError(name: "standard output")
    }
  }
}
