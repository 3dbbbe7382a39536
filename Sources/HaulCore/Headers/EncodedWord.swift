import FoundationEssentials

/// Encoded words of mail (RFC 2047): `=?UTF-8?B?w6kucGRm?=`. They have no meaning in HTTP, but
/// servers send names so, and browsers read them.
enum EncodedWord {
  /// The text with its encoded words decoded; one that cannot be decoded stays.
  static func decoded(_ text: String) -> String {
    guard text.hasBytes("=?") else { return text }
    var result = ""
    var rest = text[...]
    var followsWord = false
    while let start = rest.firstByteRange(of: "=?")?.lowerBound {
      let before = rest[..<start]
      rest = rest[start...]
      // White space between two words does not count (section 6.2).
      if !(followsWord && before.trimmingBytes(" \t").isEmpty) { result += before }
      if let (word, count) = word(rest) {
        result += word
        rest = rest[rest.utf8.index(rest.startIndex, offsetBy: count)...]
        followsWord = true
      } else {
        result += "=?"
        rest = rest[rest.utf8.index(rest.startIndex, offsetBy: 2)...]
        followsWord = false
      }
    }
    return result + rest
  }

  /// The text of the word at the start, and how many bytes it has.
  private static func word(_ text: Substring) -> (String, Int)? {
    let parts = text.byteSplit(separator: "?", maxSplits: 4, omittingEmptySubsequences: false)
    guard parts.count == 5, parts[4].hasBytePrefix("=") else { return nil }
    let encoded = String(parts[3])
    let bytes: [UInt8]? =
      switch parts[2].lowercased() {
      case "b": Data(base64Encoded: encoded).map { [UInt8]($0) }
      case "q": PercentCoding.decoded(quotedPrintable(encoded))
      default: nil
      }
    guard let bytes, let word = Charset.text(bytes, in: String(parts[1])) else { return nil }
    return (word, parts[..<4].reduce(5) { $0 + $1.utf8.count })
  }

  /// The text has `%` for `=`, and spaces for underscores (section 4.2).
  private static func quotedPrintable(_ text: String) -> String {
    text.replacingBytes("%", with: "%25").replacingBytes("=", with: "%")
      .replacingBytes("_", with: " ")
  }
}

/// The encodings of text that fields name.
enum Charset {
  /// Nil for another encoding, and for bytes that are not text of it.
  static func text(_ bytes: [UInt8], in charset: String) -> String? {
    switch charset.lowercased() {
    case "utf-8", "utf8", "us-ascii": return String(validating: bytes, as: UTF8.self)
    case "iso-8859-1":
      var text = String.UnicodeScalarView()
      text.append(contentsOf: bytes.map { Unicode.Scalar($0) })
      return String(text)
    default: return nil
    }
  }
}
