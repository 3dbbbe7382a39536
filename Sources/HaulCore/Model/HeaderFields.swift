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
  package subscript(name: String) -> String? { values(of: name).first }

  package func values(of name: String) -> [String] {
    let wanted = name.lowercased()
    return fields.lazy.filter { $0.name.lowercased() == wanted }.map(\.value)
  }

  package mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  package mutating func remove(_ name: String) {
    let unwanted = name.lowercased()
    fields.removeAll { $0.name.lowercased() == unwanted }
  }

  package mutating func keepOnly(_ names: Set<String>) {
    fields.removeAll { !names.contains($0.name.lowercased()) }
  }
}
