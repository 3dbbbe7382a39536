/// One element of a document that S3 answers with.
///
/// Foundation's parser is in FoundationXML, which links all of Foundation and libxml2. These
/// answers need elements and text only, so anything else (a DTD, a comment) makes one unreadable.
struct XMLElement: Hashable, Sendable {
  /// Without a prefix.
  let name: String
  /// Its own text, with its entities replaced.
  let text: String
  let children: [XMLElement]

  /// Parses a whole document; nil if it is cut off or not one.
  init?(document: [UInt8]) {
    var scanner = XMLScanner(rest: document[...])
    guard let root = scanner.document() else { return nil }
    self = root
  }

  fileprivate init(_ name: String, _ text: String, _ children: [XMLElement]) {
    (self.name, self.text, self.children) = (name, text, children)
  }

  /// The text of the child of that name; nil if there are several that differ.
  subscript(name: String) -> String? {
    var text: String?
    for child in children where child.name == name {
      guard text?.isByteEqual(child.text) ?? true else { return nil }
      text = child.text
    }
    return text
  }

  /// Whether it is the answer to this call: `ListPartsResult`, or with another end in some stores.
  func isAnswer(_ call: String) -> Bool { name.hasBytePrefix(call) }

  /// The text with the characters that XML reserves replaced.
  static func escaped(_ text: String) -> String {
    var escaped = ""
    for character in text.unicodeScalars {
      switch character {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }
}

private struct XMLScanner {
  var rest: ArraySlice<UInt8>

  /// The deepest nesting that is read.
  private static let maximumDepth = 16

  mutating func document() -> XMLElement? {
    skipWhitespace()
    if take("<?xml") {
      guard skip(past: "?>") else { return nil }
      skipWhitespace()
    }
    guard let root = element(depth: 1) else { return nil }
    skipWhitespace()
    return rest.isEmpty ? root : nil
  }

  private mutating func element(depth: Int) -> XMLElement? {
    guard depth <= Self.maximumDepth, take("<"), let name = name(), skipAttributes() else {
      return nil
    }
    if take("/>") { return XMLElement(Self.local(name), "", []) }
    guard take(">") else { return nil }
    var (text, children): ([UInt8], [XMLElement]) = ([], [])
    while !take("</") {
      if rest.first == UInt8(ascii: "<") {
        guard let child = element(depth: depth + 1) else { return nil }
        children.append(child)
      } else {
        guard let byte = character() else { return nil }
        text += byte
      }
    }
    guard self.name() == name else { return nil }
    skipWhitespace()
    guard take(">"), let text = String(validating: text, as: UTF8.self) else { return nil }
    return XMLElement(Self.local(name), text, children)
  }

  private mutating func name() -> String? {
    let bytes = rest.prefix {
      switch $0 {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80...: true
      default: "-._:".utf8.contains($0)
      }
    }
    rest.removeFirst(bytes.count)
    return bytes.isEmpty ? nil : String(validating: bytes, as: UTF8.self)
  }

  private static func local(_ name: String) -> String {
    name.lastByteIndex(of: ":").map { String(name[name.utf8.index(after: $0)...]) } ?? name
  }

  /// Attributes only name the schema here.
  private mutating func skipAttributes() -> Bool {
    while true {
      skipWhitespace()
      guard let first = rest.first, first != UInt8(ascii: ">"), first != UInt8(ascii: "/") else {
        return true
      }
      guard name() != nil, take("="), let quote = rest.popFirst(),
        quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
        let end = rest.firstIndex(of: quote), !rest[..<end].contains(UInt8(ascii: "<"))
      else { return false }
      rest = rest[(end + 1)...]
    }
  }

  /// The bytes of one byte of text, or of an entity.
  private mutating func character() -> [UInt8]? {
    guard let byte = rest.popFirst() else { return nil }
    guard byte == UInt8(ascii: "&") else { return [byte] }
    guard let end = rest.prefix(Self.longestEntity).firstIndex(of: UInt8(ascii: ";")),
      let name = String(validating: rest[..<end], as: UTF8.self)
    else { return nil }
    rest = rest[(end + 1)...]
    switch name {
    case "amp": return [UInt8(ascii: "&")]
    case "lt": return [UInt8(ascii: "<")]
    case "gt": return [UInt8(ascii: ">")]
    case "quot": return [UInt8(ascii: "\"")]
    case "apos": return [UInt8(ascii: "'")]
    default: return Self.numbered(name)
    }
  }

  private static let longestEntity = 10

  /// `#65` or `#x41`.
  private static func numbered(_ name: String) -> [UInt8]? {
    guard name.hasBytePrefix("#") else { return nil }
    let digits = name.dropFirst()
    let number = digits.hasBytePrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
    guard let number, number > 0, let scalar = UnicodeScalar(number) else { return nil }
    return Array(String(scalar).utf8)
  }

  private mutating func skipWhitespace() {
    rest = rest.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
  }

  private mutating func take(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard rest.count >= count,
      rest.prefix(count).elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: count))
    else { return false }
    rest.removeFirst(count)
    return true
  }

  private mutating func skip(past text: StaticString) -> Bool {
    while !rest.isEmpty {
      if take(text) { return true }
      rest.removeFirst()
    }
    return false
  }
}
