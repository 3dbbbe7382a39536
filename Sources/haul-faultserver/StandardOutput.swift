import FoundationEssentials

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// What a server says when it can be reached.
struct Listening: Encodable {
  let port: Int
}

/// Lines that a waiting program must see at once: a pipe's buffer would keep them.
enum StandardOutput {
  /// A JSON object.
  static func writeLine(_ object: some Encodable) throws {
    let bytes = Array(try JSONEncoder().encode(object)) + [UInt8(ascii: "\n")]
    guard write(STDOUT_FILENO, bytes, bytes.count) == bytes.count else {
      throw SystemError(name: "standard output")
    }
  }
}
