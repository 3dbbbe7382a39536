/// An address that stands for several, as curl writes them: `[001-100]`, `[a-z]`, `[1-9:2]` and
/// `{a,b}`. What is no such pattern, such as the brackets of an IPv6 address, is text; so is a
/// bracket or a brace behind a backslash.
package struct AddressPattern: Hashable, Sendable {
  /// A range that is written like one and cannot be.
  package struct Malformed: Error, Hashable {
    package let message: String
  }

  /// An address, and the values of its patterns, in their order.
  package typealias Address = (text: String, values: [String])

  private enum Part: Hashable, Sendable {
    case text(String)
    case names([String])
    case numbers(first: Int, step: Int, count: Int, digits: Int)
    case letters(first: UInt8, step: Int, count: Int)

    var count: Int {
      switch self {
      case .text: 1
      case .names(let names): names.count
      case .numbers(_, _, let count, _), .letters(_, _, let count): count
      }
    }

    /// - Parameter index: from 0, below `count`.
    func text(_ index: Int) -> String {
      switch self {
      case .text(let text): return text
      case .names(let names): return names[index]
      case .numbers(let first, let step, _, let digits):
        let number = String(first + index * step)
        return String(repeating: "0", count: max(0, digits - number.utf8.count)) + number
      case .letters(let first, let step, _):
        return String(UnicodeScalar(first + UInt8(index * step)))
      }
    }

    var isText: Bool { if case .text = self { true } else { false } }
  }

  private var parts: [Part] = []

  /// - Throws: for a range that goes down, or whose step is 0.
  package init(_ text: String) throws(Malformed) {
    var (rest, literal) = (Array(text.utf8)[...], [UInt8]())
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\\"), let next = rest.first, "[]{}".utf8.contains(next) {
        literal.append(rest.removeFirst())
        continue
      }
      let (part, length) = try Self.part(after: byte, rest)
      guard let part else {
        literal.append(byte)
        // What is within braces that are text is text.
        let within = byte == UInt8(ascii: "{") ? Self.braced(rest) : 0
        literal += rest.prefix(within)
        rest = rest.dropFirst(within)
        continue
      }
      parts += [.text(String(decoding: literal, as: UTF8.self)), part]
      literal = []
      rest = rest.dropFirst(length)
    }
    parts.append(.text(String(decoding: literal, as: UTF8.self)))
  }

  /// Whether it has a pattern; otherwise it stands for one address.
  package var isPattern: Bool { parts.count > 1 }

  /// How many addresses it stands for; the largest number if there are more.
  package var count: Int {
    parts.reduce(1) { count, part in
      let (product, isTooMuch) = count.multipliedReportingOverflow(by: part.count)
      return isTooMuch ? .max : product
    }
  }

  /// One of the addresses: of two neighbours, the last pattern has another value.
  /// - Parameter index: from 0, below `count`.
  package subscript(index: Int) -> Address {
    var (index, texts, values) = (index, [String](), [String]())
    for part in parts.reversed() {
      let text = part.text(index % part.count)
      index /= part.count
      texts.append(text)
      if !part.isText { values.append(text) }
    }
    return (texts.reversed().joined(), values.reversed())
  }

  /// A text in which `#1` is the first value, and so on; a number that no value has stays.
  package static func filled(_ text: String, with values: [String]) -> String {
    let pieces = text.byteSplit(separator: "#", omittingEmptySubsequences: false)
    return pieces.dropFirst().reduce(into: String(pieces[0])) { filled, piece in
      let digits = piece[..<(piece.utf8.firstIndex { !isDigit($0) } ?? piece.endIndex)]
      if let number = Int(digits), values.indices.contains(number - 1) {
        filled += values[number - 1]
        filled += piece[digits.endIndex...]
      } else {
        filled += "#"
        filled += piece
      }
    }
  }
}

extension AddressPattern {
  /// The pattern that begins with this byte, and the length of what follows the byte; nil if none
  /// does.
  private static func part(
    after byte: UInt8, _ rest: ArraySlice<UInt8>
  ) throws(Malformed) -> (Part?, Int) {
    let isRange = byte == UInt8(ascii: "[")
    let close = UInt8(ascii: isRange ? "]" : "}")
    guard isRange || byte == UInt8(ascii: "{"), let end = rest.firstIndex(of: close) else {
      return (nil, 0)
    }
    let content = rest[..<end]
    return (isRange ? try range(content) : names(content), content.count + 1)
  }

  /// The length of what is before the brace that closes one; 0 if none does.
  private static func braced(_ rest: ArraySlice<UInt8>) -> Int {
    var depth = 1
    for (index, byte) in zip(rest.indices, rest) {
      if byte == UInt8(ascii: "{") { depth += 1 } else if byte == UInt8(ascii: "}") { depth -= 1 }
      if depth == 0 { return index - rest.startIndex }
    }
    return 0
  }

  /// Nil without a comma, and for what looks like JSON.
  private static func names(_ content: ArraySlice<UInt8>) -> Part? {
    let names = content.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
    guard names.count > 1, !content.contains(where: "{[]\"\\".utf8.contains) else { return nil }
    return .names(names.map { String(decoding: $0, as: UTF8.self) })
  }

  private static func range(_ content: ArraySlice<UInt8>) throws(Malformed) -> Part? {
    let steps = content.split(
      separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    let ends = steps[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard steps.count <= 2, ends.count == 2,
      let step = steps.count == 2 ? number(steps[1]) : 1
    else { return nil }
    let shown = "[\(String(decoding: content, as: UTF8.self))]"
    func count(_ first: Int, _ last: Int) throws(Malformed) -> Int {
      guard step > 0 else { throw Malformed(message: "\(shown): the step is 0") }
      guard first <= last else { throw Malformed(message: "\(shown): the range goes down") }
      return (last - first) / step + 1
    }
    if let first = number(ends[0]), let last = number(ends[1]) {
      let digits = ends[0].first == UInt8(ascii: "0") ? ends[0].count : 1
      return .numbers(
        first: first, step: step, count: try count(first, last), digits: digits)
    }
    guard let first = letter(ends[0]), let last = letter(ends[1]) else { return nil }
    guard first & 0x20 == last & 0x20 else {
      throw Malformed(message: "\(shown): both ends are small letters, or both are capital ones")
    }
    return .letters(first: first, step: step, count: try count(Int(first), Int(last)))
  }

  /// A number that no sum of two exceeds.
  private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
    guard (1...18).contains(digits.count), digits.allSatisfy(isDigit) else { return nil }
    return Int(String(decoding: digits, as: UTF8.self))
  }

  private static func letter(_ text: ArraySlice<UInt8>) -> UInt8? {
    guard text.count == 1, let byte = text.first, (0x61...0x7A).contains(byte | 0x20) else {
      return nil
    }
    return byte
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
