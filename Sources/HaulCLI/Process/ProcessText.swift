import HaulCore
import HaulLibC

/// The arguments and variables of a process, which are bytes, as text. Bytes that are not UTF-8 are
/// refused: with a replacement character in their place, they would name another file.
package enum ProcessText {
  /// The arguments of this process, without the name of the program.
  package static var argumentBytes: [[UInt8]] {
    (0..<Int(CommandLine.argc)).dropFirst().compactMap { index in
      CommandLine.unsafeArgv[index].map { argument in
        var count = 0
        while argument[count] != 0 { count += 1 }
        return Array(UnsafeRawBufferPointer(start: argument, count: count))
      }
    }
  }

  /// - Parameter all: the arguments, without the name of the program.
  /// - Throws: for one that is not UTF-8.
  package static func arguments(_ all: [[UInt8]]) throws(UsageError) -> [String] {
    var texts: [String] = []
    for (index, bytes) in all.enumerated() {
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw UsageError(
          "argument \(index + 1), '\(shown(bytes))', is not UTF-8 text; rename the file or the "
            + "directory, or name a symbolic link to the directory; in an address, write %EF for "
            + "the byte \\xEF")
      }
      texts.append(text)
    }
    return texts
  }

  /// Each byte outside ASCII is shown as `\xEF`. What follows a `:` or a `=` may be a secret.
  private static func shown(_ bytes: [UInt8]) -> String {
    let equals = UInt8(ascii: "=")
    // The value of a long option is an argument as well.
    let option = bytes.starts(with: "--".utf8) ? bytes.prefix { $0 != equals }.count + 1 : 0
    let end = bytes.dropFirst(option).firstIndex { $0 == equals || $0 == UInt8(ascii: ":") }
    let text = bytes[...(end ?? bytes.count - 1)].map { byte in
      byte < 0x80
        ? String(UnicodeScalar(byte)) : "\\x" + String(byte, radix: 16, uppercase: true)
    }
    return text.joined() + (end == nil ? "" : "***")
  }

  /// Checks the variables of this process.
  static func checkVariables() throws(UsageError) {
    try checkVariables { name in
      getenv(name).map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
    }
  }

  /// - Parameter value: the bytes of a variable; nil if it is not set.
  /// - Throws: for one with a path or a password that is not UTF-8.
  package static func checkVariables(
    _ value: (_ name: String) -> [UInt8]?
  ) throws(UsageError) {
    for name in variables {
      guard let bytes = value(name), String(validating: bytes, as: UTF8.self) == nil else {
        continue
      }
      throw UsageError("the variable \(name) is not UTF-8 text; set it to another value")
    }
  }

  private static let variables = [
    "HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DOWNLOAD_DIR",
    "XDG_RUNTIME_DIR", "NETRC", "HAUL_PASSWORD", "SSL_CERT_FILE", "SSL_CERT_DIR",
  ]
}
