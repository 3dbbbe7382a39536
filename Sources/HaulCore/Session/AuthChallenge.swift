/// One way in which a server or a proxy lets itself be convinced (RFC 9110, section 11.6.1).
package struct AuthChallenge: Hashable, Sendable {
  /// In lower case: `basic`, `digest`, ….
  package let scheme: String
  /// By lower-case name; the first of each name. Empty if it has one token instead.
  package private(set) var parameters: [String: String] = [:]

  /// All challenges of these fields, which may be lists; what can't be read is left out.
  package static func all(in fields: HeaderFields, named name: String) -> [AuthChallenge] {
    fields.values(of: name).flatMap { list(in: $0) }
  }

  private init(scheme: String) { self.scheme = scheme.lowercased() }

  /// The longest field that is read.
  private static let maximumField = 16 << 10

  private static func list(in text: String) -> [AuthChallenge] {
    guard text.utf8.count <= maximumField else { return [] }
    var scanner = FieldScanner(text)
    var found: [AuthChallenge] = []
    while true {
      scanner.skipSeparators()
      guard let scheme = scanner.token() else { return found }
      var challenge = AuthChallenge(scheme: scheme)
      guard challenge.takeParameters(&scanner) else { return found }
      found.append(challenge)
    }
  }

  /// Reads up to the next scheme; false for a text that can't be read.
  private mutating func takeParameters(_ scanner: inout FieldScanner) -> Bool {
    scanner.skipWhitespace()
    // The first one follows its scheme without a comma.
    while !(parameters.isEmpty && scanner.isAtEndOfElement) {
      scanner.skipSeparators()
      if scanner.isAtEnd { return true }
      let start = scanner
      var isParameter = false
      if let name = scanner.token()?.lowercased() {
        scanner.skipWhitespace()
        isParameter = scanner.take("=")
        if isParameter, let value = scanner.value(isFirst: parameters.isEmpty) {
          if parameters[name] == nil { parameters[name] = value }
          continue
        }
        scanner = start
        if !isParameter, !parameters.isEmpty { return true }
      }
      guard parameters.isEmpty, scanner.takeToken68() else { return false }
      if scanner.isAtEndOfElement { return true }
      // Two words: the second scheme follows the first.
      scanner = start
      return !isParameter
    }
    return true
  }
}

extension FieldScanner {
  /// Skips white space and the commas between the elements of a list.
  fileprivate mutating func skipSeparators() {
    _ = takeRun { Self.isWhitespace($0) || $0 == UInt8(ascii: ",") }
  }

  /// Takes what has no name (RFC 9110, section 11.2).
  fileprivate mutating func takeToken68() -> Bool {
    let run = takeRun { Self.isTokenCharacter($0) || "/=".utf8.contains($0) }
    return !run.isEmpty
  }

  fileprivate var isAtEndOfElement: Bool {
    var rest = self
    rest.skipWhitespace()
    return rest.isAtEnd || rest.take(",")
  }

  /// Takes a quoted string or, as some servers send it, anything up to a comma or white space.
  /// - Parameter isFirst: whether it may be the end of a token instead.
  fileprivate mutating func value(isFirst: Bool) -> String? {
    skipWhitespace()
    if next == UInt8(ascii: "\"") { return quotedString() }
    let run = takeRun { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ",") }
    if isFirst, run.allSatisfy({ $0 == UInt8(ascii: "=") }) { return nil }
    return String(decoding: run, as: UTF8.self)
  }
}
