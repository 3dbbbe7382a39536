/// A command line in one text, as the AWS tools split it: with the quotes of a shell, and without
/// anything else of one.
package enum CommandWords {
  /// The words; nil if a quote or an escape has no end.
  package static func split(_ text: String) -> [String]? {
    var words: [String] = []
    var word: [UInt8]?
    var (quote, isEscaped): (UInt8?, Bool) = (nil, false)
    let (single, double, escape) = (UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "\\"))
    for byte in text.utf8 {
      if isEscaped {
        // Between double quotes, an escape is one only before these two.
        if quote == double, byte != double, byte != escape { word?.append(escape) }
        word?.append(byte)
        isEscaped = false
      } else if byte == escape, quote != single {
        (word, isEscaped) = (word ?? [], true)
      } else if let open = quote {
        if byte == open { quote = nil } else { word?.append(byte) }
      } else if byte == single || byte == double {
        (word, quote) = (word ?? [], byte)
      } else if " \t\r\n".utf8.contains(byte) {
        if let end = word { words.append(String(decoding: end, as: UTF8.self)) }
        word = nil
      } else {
        word = (word ?? []) + [byte]
      }
    }
    guard quote == nil, !isEscaped else { return nil }
    if let end = word { words.append(String(decoding: end, as: UTF8.self)) }
    return words
  }
}
