/// `Content-Disposition` (RFC 6266).
package struct ContentDisposition: Hashable, Sendable {
  /// `attachment`, `inline` or another, in lower case.
  package let type: String
  /// The name that the server suggests, decoded and **not** made safe: for `FileName` only.
  package let fileName: String?

  /// Reads one value; nil if nothing of it can be read.
  ///
  /// Names without the quotes or the type that the RFC asks for are read as browsers do (decision
  /// 024). `filename*` overrides `filename`, unless it cannot be decoded (section 4.3).
  package init?(_ text: String) {
    var scanner = FieldScanner(text)
    scanner.skipWhitespace()
    let type = Self.type(&scanner)
    let parameters = Self.parameters(&scanner)
    guard type != nil || !parameters.isEmpty else { return nil }
    self.type = type ?? "attachment"
    let name =
      parameters["filename*"].flatMap { Self.decodeExtended($0, strictly: true) }
      ?? parameters["filename"].map(EncodedWord.decoded)
      ?? parameters["filename*"].flatMap { Self.decodeExtended($0, strictly: false) }
    // In its place were bytes that the transport could not keep.
    fileName = name.flatMap { $0.unicodeScalars.contains("\u{FFFD}") ? nil : $0 }
  }

  /// Reads the field of a response; nil if it is missing, unreadable, or repeated with another
  /// value.
  package init?(_ headers: HeaderFields) {
    guard let only = headers.single("Content-Disposition") else { return nil }
    self.init(only)
  }

  /// Nil if the field begins with a parameter.
  private static func type(_ scanner: inout FieldScanner) -> String? {
    var rest = scanner
    guard let token = rest.token() else { return nil }
    rest.skipWhitespace()
    guard rest.next != UInt8(ascii: "=") else { return nil }
    scanner = rest
    return token.lowercased()
  }

  /// Parameters by their name in lower case. Of two with one name, the first counts.
  private static func parameters(_ scanner: inout FieldScanner) -> [String: String] {
    var parameters: [String: String] = [:]
    while !scanner.isAtEnd {
      _ = scanner.takeRun { $0 == UInt8(ascii: ";") || FieldScanner.isWhitespace($0) }
      if let name = scanner.token()?.lowercased() {
        scanner.skipWhitespace()
        if scanner.take("="), let value = value(&scanner), parameters[name] == nil {
          parameters[name] = value
        }
      }
      _ = scanner.takeRun { $0 != UInt8(ascii: ";") }
    }
    return parameters
  }

  /// A quoted text, which its end may close, or everything up to the next semicolon.
  private static func value(_ scanner: inout FieldScanner) -> String? {
    scanner.skipWhitespace()
    if scanner.take("\"") { return quoted(&scanner) }
    let run = scanner.takeRun { $0 != UInt8(ascii: ";") }
    let value = String(decoding: run, as: UTF8.self).trimmingBytes(" \t")
    return value.isEmpty ? nil : String(value)
  }

  /// A backslash escapes a quote and itself. Before anything else it is a part of a path, which
  /// servers on Windows send.
  private static func quoted(_ scanner: inout FieldScanner) -> String? {
    var bytes: [UInt8] = []
    while true {
      bytes += scanner.takeRun { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
      if scanner.take("\\\"") {
        bytes.append(UInt8(ascii: "\""))
      } else if scanner.take("\\\\") || scanner.take("\\") {
        bytes.append(UInt8(ascii: "\\"))
      } else {
        _ = scanner.take("\"")
        return String(decoding: bytes, as: UTF8.self)
      }
    }
  }

  /// Decodes `CHARSET'LANGUAGE'PERCENT-ENCODED` (RFC 8187, section 3.2); nil when malformed.
  ///
  /// Strictly, nil also in another charset and for characters that are not encoded although they
  /// must be.
  private static func decodeExtended(_ value: String, strictly: Bool) -> String? {
    let parts = value.byteSplit(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    let charset = String(parts[0])
    if strictly { return percentDecoded(parts[2]).flatMap { Charset.text($0, in: charset) } }
    let bytes = PercentCoding.decoded(parts[2])
    // Letters that are not encoded are UTF-8 here, whatever the charset.
    let isEncoded = parts[2].utf8.allSatisfy { $0 < 0x80 }
    if isEncoded, let text = Charset.text(bytes, in: charset) { return text }
    return String(decoding: FieldText.utf8(bytes, escaping: false) ?? bytes, as: UTF8.self)
  }

  private static func percentDecoded(_ text: Substring) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard let decoded = PercentCoding.takeHexByte(&rest) else { return nil }
        bytes.append(decoded)
      } else if isAttributeCharacter(byte) {
        bytes.append(byte)
      } else {
        return nil
      }
    }
    return bytes
  }

  /// `attr-char`: a token character except `*`, `'` and `%`.
  private static func isAttributeCharacter(_ byte: UInt8) -> Bool {
    FieldScanner.isTokenCharacter(byte) && !"*'%".utf8.contains(byte)
  }
}
