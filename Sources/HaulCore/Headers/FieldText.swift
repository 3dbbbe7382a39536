/// Text in field values that is not UTF-8. No byte of it is lost: two values never become one.
package enum FieldText {
  /// The bytes as UTF-8; nil if they are that already.
  ///
  /// RFC 9110, section 5.5, names ISO 8859-1; like browsers, this takes windows-1252, which has it
  /// and visible characters where that has controls. Bytes that would not be visible are no text of
  /// it: then each byte above ASCII becomes `%XX`.
  /// - Parameter escaping: whether that is right for all, as in an address.
  package static func utf8(_ bytes: [UInt8], escaping: Bool) -> [UInt8]? {
    guard bytes.contains(where: { $0 >= 0x80 }),
      String(validating: bytes, as: UTF8.self) == nil
    else { return nil }
    let (escaped, hasPairs) = escaped(bytes)
    let text = escaping || hasPairs ? nil : windows1252(bytes)
    return Array((text ?? escaped).utf8)
  }

  /// Shift JIS, GBK and Big5 have characters whose second byte is `\` or `|`, which would not stay
  /// in a file's name: such a byte is escaped, too.
  private static func escaped(_ bytes: [UInt8]) -> (String, hasPairs: Bool) {
    var (text, last, hasPairs) = ("", UInt8(0), false)
    for byte in bytes {
      let ends = last >= 0x80 && (byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "|"))
      if ends { hasPairs = true }
      text += byte >= 0x80 || ends ? PercentCoding.encoded(byte) : String(UnicodeScalar(byte))
      last = byte
    }
    return (text, hasPairs)
  }

  private static func windows1252(_ bytes: [UInt8]) -> String? {
    var text = String.UnicodeScalarView()
    for byte in bytes {
      switch byte {
      case 0x80...0x9F:
        guard let scalar = Unicode.Scalar(upper[Int(byte) - 0x80]), scalar != "\0" else {
          return nil
        }
        text.append(scalar)
      case 0xA0, 0xAD: return nil  // a space that is not one, and a hyphen that is not shown
      default: text.append(Unicode.Scalar(byte))
      }
    }
    return String(text)
  }

  /// The characters of 0x80 to 0x9F; 0 where there is none.
  private static let upper: [UInt16] = [
    0x20AC, 0, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
    0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0, 0x017D, 0,
    0, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
    0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0, 0x017E, 0x0178,
  ]
}

/// Values that go back to the server that sent them: with the same bytes, whatever they mean.
///
/// A byte that is no part of UTF-8 becomes a private character, U+10FE00 and the byte. Where the
/// server itself sends one of these, each of its bytes does: so every text has one value.
extension FieldText {
  /// The fields with such values, in lower case. Those with an address are escaped instead.
  package static let returned = [
    "etag", "last-modified", "set-cookie", "www-authenticate", "proxy-authenticate",
  ]

  /// The text that keeps these bytes.
  package static func reversible(_ bytes: [UInt8]) -> String {
    var text = String.UnicodeScalarView()
    var (parser, rest, position) = (UTF8.ForwardParser(), bytes.makeIterator(), 0)
    while true {
      let length: Int
      switch parser.parseScalar(from: &rest) {
      case .emptyInput: return String(text)
      case .error(let count): length = count
      case .valid(let encoded):
        let scalar = UTF8.decode(encoded)
        length = isByte(scalar) ? encoded.count : 0
        if length == 0 {
          text.append(scalar)
          position += encoded.count
        }
      }
      text.append(contentsOf: bytes[position..<(position + length)].compactMap(character))
      position += length
    }
  }

  /// The bytes of a text, as they are sent.
  package static func bytes(of text: String) -> [UInt8] {
    guard !isText(text) else { return Array(text.utf8) }
    return text.unicodeScalars.flatMap { scalar in
      isByte(scalar) ? [UInt8(truncatingIfNeeded: scalar.value)] : Array(String(scalar).utf8)
    }
  }

  /// Whether its bytes are those of UTF-8.
  package static func isText(_ value: String) -> Bool {
    // Nearly every text is in one piece, and ASCII.
    let isPlain = value.utf8.withContiguousStorageIfAvailable { bytes in
      bytes.reduce(0, |) < 0x80 || !bytes.contains { $0 >= 0xF4 }
    }
    return isPlain == true || !value.unicodeScalars.contains(where: isByte)
  }

  private static func isByte(_ scalar: Unicode.Scalar) -> Bool {
    (0x10FE80...0x10FEFF).contains(scalar.value)
  }

  private static func character(_ byte: UInt8) -> Unicode.Scalar? {
    Unicode.Scalar(0x10FE00 + UInt32(byte))
  }
}
