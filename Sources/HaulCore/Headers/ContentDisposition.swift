/// `Content-Disposition` (RFC 6266).
package struct ContentDisposition: Hashable, Sendable {
  /// `attachment`, `inline` or another, in lower case.
  package let type: String
  /// The name that the server suggests, decoded and **not** made safe: for `FileName` only.
  package let fileName: String?

  /// Reads one value; nil if it is malformed or repeats a parameter (RFC 6266, section 4.1).
  ///
  /// `filename*` overrides `filename`, unless it cannot be decoded (section 4.3).
  package init?(_ text: String) {
    var scanner = FieldScanner(text)
    scanner.skipWhitespace()
    guard let type = scanner.token(), let parameters = Self.parameters(&scanner) else { return nil }
    self.type = type.lowercased()
    fileName = parameters["filename*"].flatMap(Self.decodeExtended) ?? parameters["filename"]
  }

  /// Reads the field of a response; nil if it is missing, malformed or repeated.
  package init?(_ headers: HeaderFields) {
    let values = headers.values(of: "Content-Disposition")
    guard values.count == 1, let only = values.first else { return nil }
    self.init(only)
  }

  /// Parameters by their name in lower case (RFC 9110, section 5.6.6: a parameter may be empty).
  private static func parameters(_ scanner: inout FieldScanner) -> [String: String]? {
    var parameters: [String: String] = [:]
    scanner.skipWhitespace()
    while scanner.take(";") {
      scanner.skipWhitespace()
      guard let name = scanner.token()?.lowercased() else { continue }
      scanner.skipWhitespace()
      guard scanner.take("=") else { return nil }
      scanner.skipWhitespace()
      let value = scanner.next == UInt8(ascii: "\"") ? scanner.quotedString() : scanner.token()
      guard let value, parameters.updateValue(value, forKey: name) == nil else { return nil }
      scanner.skipWhitespace()
    }
    return scanner.isAtEnd ? parameters : nil
  }

  /// Decodes `CHARSET'LANGUAGE'PERCENT-ENCODED` (RFC 8187, section 3.2); nil when malformed or in
  /// another charset.
  private static func decodeExtended(_ value: String) -> String? {
    let parts = value.byteSplit(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let bytes = percentDecoded(parts[2]) else { return nil }
    switch parts[0].lowercased() {
    case "utf-8":
      return String(validating: bytes, as: UTF8.self)
    case "iso-8859-1":
      var text = ""
      text.unicodeScalars.append(contentsOf: bytes.map { Unicode.Scalar($0) })
      return text
    default:
      return nil
    }
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
