/// Header fields in their original order; names compare without case (RFC 9110, section 5.1).
///
/// A dictionary literal makes them, or pairs, which may repeat a name:
/// `["Accept": "text/html"]`, `[("Cookie", "a=1"), ("Cookie", "b=2")]`.
public struct HeaderFields: Hashable, Sendable, Codable {
  /// One field.
  public struct Field: Hashable, Sendable, Codable {
    /// In its original spelling.
    public let name: String
    /// Without white space around it.
    public let value: String

    /// A field of that name.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// All of them, in their order.
  package private(set) var fields: [Field]

  /// Fields of these names and values.
  public init(_ fields: [(String, String)] = []) {
    self.fields = fields.map { Field(name: $0.0, value: $0.1) }
  }

  /// These fields.
  public init(_ fields: [Field]) { self.fields = fields }

  /// The value of the first field of that name; O(fields). Setting it replaces every field of that
  /// name, where the first one is; nil removes them.
  public subscript(name: String) -> String? {
    get {
      for field in fields where field.isNamed(name) { return field.value }
      return nil
    }
    set {
      let index = fields.firstIndex { $0.isNamed(name) } ?? fields.count
      fields.removeAll { $0.isNamed(name) }
      if let newValue { fields.insert(Field(name: name, value: newValue), at: index) }
    }
  }

  /// The values of all fields of that name, in their order.
  public func values(of name: String) -> [String] {
    var values: [String] = []
    for field in fields where field.isNamed(name) { values.append(field.value) }
    return values
  }

  /// The single value of a field; nil if it is missing or its lines differ.
  package func single(_ name: String) -> String? {
    var single: String?
    for field in fields where field.isNamed(name) {
      guard single?.utf8.elementsEqual(field.value.utf8) ?? true else { return nil }
      single = field.value
    }
    return single
  }

  /// Adds a field at the end, even if there is one of that name.
  public mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  /// Removes every field of that name.
  public mutating func remove(_ name: String) {
    fields.removeAll { $0.isNamed(name) }
  }

  package mutating func keepOnly(_ names: Set<String>) {
    fields.removeAll { !names.contains($0.name.lowercased()) }
  }
}

/// What can be sent.
extension HeaderFields {
  /// Whether it is a `token` (RFC 9110, section 5.6.2).
  package static func isName(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
  }

  /// Whether it determines which bytes the server sends or how they are framed: Haul sets it.
  package static func isReserved(_ name: String) -> Bool { reserved.contains(name.lowercased()) }

  private static let reserved: Set<String> = [
    "range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
    "accept-encoding", "connection", "content-length", "expect", "host", "keep-alive",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
  ]

  /// Whether it has no line break and no control character (RFC 9110, section 5.5).
  package static func isValue(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
  }
}

extension HeaderFields: RandomAccessCollection {
  /// The first position.
  public var startIndex: Int { fields.startIndex }
  /// The position after the last field.
  public var endIndex: Int { fields.endIndex }

  /// The field at that position.
  public subscript(position: Int) -> Field { fields[position] }
}

extension HeaderFields: ExpressibleByArrayLiteral {
  /// Fields of these names and values: `[("Cookie", "a=1"), ("Cookie", "b=2")]`.
  public init(arrayLiteral fields: (String, String)...) { self.init(fields) }
}

extension HeaderFields: ExpressibleByDictionaryLiteral {
  /// Fields of these names and values: `["ETag": "\"1\""]`.
  public init(dictionaryLiteral fields: (String, String)...) { self.init(fields) }
}

extension HeaderFields.Field {
  /// Most names already differ in length.
  @inline(__always)
  fileprivate func isNamed(_ other: String) -> Bool {
    name.utf8.count == other.utf8.count && isSpelled(other)
  }

  /// Names are ASCII (RFC 9110, section 5.1). Most are spelled equally; the others are compared
  /// byte by byte.
  @inline(never)
  private func isSpelled(_ other: String) -> Bool {
    if name == other { return true }
    var theirs = other.utf8.makeIterator()
    for byte in name.utf8 {
      guard let their = theirs.next(), Self.lowercase(byte) == Self.lowercase(their) else {
        return false
      }
    }
    return true
  }

  private static func lowercase(_ byte: UInt8) -> UInt8 {
    byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
  }
}
