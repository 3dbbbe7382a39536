/// Parses plain addresses fast: lower case up to the path, without user information, fragment,
/// escapes or dots after a slash. Most addresses in lists are plain; others need the full parser.
struct SimpleURLParser {
  let scheme: String
  let host: String
  let port: Int
  let path: String
  let query: String?

  /// Nil for every address that is not plain, even a valid one.
  init?(_ text: String) {
    guard
      let plain = text.utf8.withContiguousStorageIfAvailable(Self.init(bytes:)) ?? nil
    else { return nil }
    self = plain
  }

  private init?(bytes: UnsafeBufferPointer<UInt8>) {
    let start: Int
    if bytes.starts(with: "https://".utf8) {
      (scheme, start) = ("https", 8)
    } else if bytes.starts(with: "http://".utf8) {
      (scheme, start) = ("http", 7)
    } else {
      return nil
    }
    guard let root = bytes[start...].firstIndex(of: UInt8(ascii: "/")) else { return nil }
    let authority = bytes[start..<root]
    let colon = authority.firstIndex(of: UInt8(ascii: ":")) ?? root
    let question = bytes[root...].firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
    guard Self.isHost(authority[..<colon]), let port = Self.port(authority[colon...], of: scheme),
      Self.isPath(bytes[root..<question]),
      bytes[question...].dropFirst().allSatisfy({ Self.isOfPath($0) || $0 == UInt8(ascii: "?") })
    else { return nil }
    self.port = port
    host = String(decoding: authority[..<colon], as: UTF8.self)
    path = String(decoding: bytes[root..<question], as: UTF8.self)
    query =
      question < bytes.endIndex
      ? String(decoding: bytes[(question + 1)...], as: UTF8.self) : nil
  }

  /// The number after the colon; the scheme's default if both are missing.
  private static func port(_ text: Slice<UnsafeBufferPointer<UInt8>>, of scheme: String) -> Int? {
    guard let first = text.dropFirst().first else {
      return text.isEmpty ? scheme == "https" ? 443 : 80 : nil
    }
    let digits = text.dropFirst()
    guard first != UInt8(ascii: "0"), digits.allSatisfy(FieldScanner.isDigit),
      let port = FieldScanner.decimal(digits), port <= 65_535
    else { return nil }
    return Int(port)
  }

  /// Two hyphens in a row may begin a punycode label, which encodes other text.
  private static func isHost(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    var last: UInt8 = 0
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "."):
        break
      case UInt8(ascii: "-") where last != byte: break
      default: return false
      }
      last = byte
    }
    return !bytes.isEmpty
  }

  /// Whether a text that follows a path is plain too.
  static func isPath(_ text: String, after path: String) -> Bool {
    text.utf8.withContiguousStorageIfAvailable { isPath($0[...], after: path.utf8.last) } ?? false
  }

  /// Without a dot after a slash: it may begin a dot segment.
  private static func isPath(
    _ bytes: Slice<UnsafeBufferPointer<UInt8>>, after last: UInt8? = nil
  ) -> Bool {
    var last = last
    for byte in bytes {
      guard isOfPath(byte), byte != UInt8(ascii: ".") || last != UInt8(ascii: "/") else {
        return false
      }
      last = byte
    }
    return true
  }

  /// RFC 3986, section 3.3, without escapes.
  private static func isOfPath(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      // - . / 0 to 9 :
      UInt8(ascii: "-")...UInt8(ascii: ":"), UInt8(ascii: "_"), UInt8(ascii: "~"),
      UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "="), UInt8(ascii: "@"),
      // & ' ( ) * + ,
      UInt8(ascii: "&")...UInt8(ascii: ","), UInt8(ascii: ";"):
      true
    default: false
    }
  }
}
