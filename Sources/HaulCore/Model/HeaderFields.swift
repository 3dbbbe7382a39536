/// Header fields in the order they came; names compare without case (RFC 9110, section 5.1).
package struct HeaderFields: Hashable, Sendable {
  package struct Field: Hashable, Sendable {
    package let name: String
    package let value: String

    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  package private(set) var fields: [Field]

  package init(_ fields: [(String, String)] = []) {
    self.fields = fields.map { Field(name: $0.0, value: $0.1) }
  }

  /// The value of the first field of that name; O(fields).
  package subscript(name: String) -> String? { fields.first { $0.isNamed(name) }?.value }

  package func values(of name: String) -> [String] {
    fields.lazy.filter { $0.isNamed(name) }.map(\.value)
  }

  package mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  package mutating func remove(_ name: String) {
    fields.removeAll { $0.isNamed(name) }
  }

  package mutating func keepOnly(_ names: Set<String>) {
    fields.removeAll { !names.contains($0.name.lowercased()) }
  }
}

extension HeaderFields.Field {
  /// Names are ASCII (RFC 9110, section 5.1): compared byte by byte, nothing is copied.
  fileprivate func isNamed(_ other: String) -> Bool {
    guard name.utf8.count == other.utf8.count else { return false }
    return zip(name.utf8, other.utf8).allSatisfy { Self.lowercase($0) == Self.lowercase($1) }
  }

  private static func lowercase(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}
