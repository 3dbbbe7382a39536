import FoundationEssentials
import HaulLibC

/// What a server prints when it accepts connections.
struct Listening: Encodable {
  let port: Int
}

/// Writes lines without a buffer, so that a waiting program sees them at once.
enum StandardOutput {
  /// Writes a value as one line of JSON.
  static func writeLine(_ object: some Encodable) throws {
    let bytes = Array(try JSONEncoder().encode(object)) + [UInt8(ascii: "\n")]
    guard write(STDOUT_FILENO, bytes, bytes.count) == bytes.count else {
      throw LastSystemError(name: "standard output")
    }
  }
}
