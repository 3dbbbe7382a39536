/// A complete head of an answer in which there is nothing to repair. Nearly every head is one, so
/// it is read once, and nothing is allocated.
struct CleanHead {
  let status: Int
  let isChunked: Bool
  /// Whether its body ends with the connection: it says no length, and its status does not either
  /// (RFC 9112, section 6.3).
  let needsFraming: Bool
  /// Where the body begins.
  let end: Int

  /// Nil for every other head, also for some valid ones, such as one with a tab.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard let status = Self.status(bytes), var position = Self.lineEnd(bytes, from: 12) else {
      return nil
    }
    var (lengths, codings) = (0, 0)
    while position < bytes.count, bytes[position] != UInt8(ascii: "\r") {
      guard let colon = Self.nameEnd(bytes, from: position),
        let next = Self.lineEnd(bytes, from: colon + 1),
        bytes[next - 3] != UInt8(ascii: " ")
      else { return nil }
      let name = position..<colon
      if name.count == 14, Self.isSpelled("content-length", bytes, name) {
        guard Self.isLength(bytes, (colon + 1)..<(next - 2)) else { return nil }
        lengths += 1
      } else if name.count == 17, Self.isSpelled("transfer-encoding", bytes, name) {
        guard Self.isChunked(bytes, (colon + 1)..<(next - 2)) else { return nil }
        codings += 1
      }
      position = next
    }
    guard position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "\n"),
      position + 2 <= PartialHead.maximumSize, lengths + codings <= 1,
      codings == 0 || bytes[7] == UInt8(ascii: "1")
    else { return nil }
    (self.status, isChunked, end) = (status, codings > 0, position + 2)
    needsFraming =
      lengths + codings == 0 && bytes[7] == UInt8(ascii: "1") && status >= 200 && status != 204
      && status != 304
  }

  /// `HTTP/1.x NNN` (RFC 9112, section 4), with a space or the end of the line after it.
  private static func status(_ bytes: UnsafeRawBufferPointer) -> Int? {
    guard bytes.count > 12,
      // "HTTP/1." and one byte more.
      UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)) >> 8 == 0x0048_5454_502F_312E,
      bytes[7] == UInt8(ascii: "1") || bytes[7] == UInt8(ascii: "0"),
      bytes[8] == UInt8(ascii: " "), bytes[12] == UInt8(ascii: " ") || bytes[12] == 0x0D
    else { return nil }
    var status = 0
    for index in 9..<12 {
      guard FieldScanner.isDigit(bytes[index]) else { return nil }
      status = status * 10 + Int(bytes[index] - 0x30)
    }
    return status
  }

  /// Where the next line begins, if only visible ASCII and spaces precede a CR LF.
  private static func lineEnd(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
    var index = start
    // Eight bytes at once: this is read for every answer.
    while index + 8 <= bytes.count {
      let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      let unusual = (word &- 0x2020_2020_2020_2020) | (word &+ 0x0101_0101_0101_0101) | word
      if unusual & 0x8080_8080_8080_8080 != 0 { break }
      index += 8
    }
    while index < bytes.count, bytes[index] &- 0x20 < 0x5F { index += 1 }
    guard index + 1 < bytes.count, bytes[index] == UInt8(ascii: "\r"),
      bytes[index + 1] == UInt8(ascii: "\n")
    else { return nil }
    return index + 2
  }

  /// Where the colon is, after a name of the usual characters.
  private static func nameEnd(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
    var index = start
    while index < bytes.count, isOfName(bytes[index]) { index += 1 }
    guard index > start, index < bytes.count, bytes[index] == UInt8(ascii: ":") else { return nil }
    return index
  }

  /// Letters, digits, `-` and `_`, as bits of two words.
  private static func isOfName(_ byte: UInt8) -> Bool {
    let word: UInt64 = byte < 0x40 ? 0x03FF_2000_0000_0000 : 0x07FF_FFFE_87FF_FFFE
    return byte < 0x80 && (word &>> UInt64(byte)) & 1 != 0
  }

  private static func isSpelled(
    _ name: StaticString, _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>
  ) -> Bool {
    guard range.count == name.utf8CodeUnitCount else { return false }
    return (0..<range.count).allSatisfy {
      FieldScanner.lowercased(bytes[range.lowerBound + $0]) == name.utf8Start[$0]
    }
  }

  /// Whether the value is one to eighteen digits after spaces.
  private static func isLength(_ bytes: UnsafeRawBufferPointer, _ value: Range<Int>) -> Bool {
    let digits = bytes[value].drop { $0 == UInt8(ascii: " ") }
    return (1...18).contains(digits.count) && digits.allSatisfy(FieldScanner.isDigit)
  }

  private static func isChunked(_ bytes: UnsafeRawBufferPointer, _ value: Range<Int>) -> Bool {
    let coding = bytes[value].drop { $0 == UInt8(ascii: " ") }
    return isSpelled("chunked", bytes, coding.indices)
  }
}
