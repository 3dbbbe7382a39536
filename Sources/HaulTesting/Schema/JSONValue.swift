import FoundationEssentials

/// A parsed JSON value.
package enum JSONValue: Hashable, Sendable, Decodable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// Parses one JSON text.
  package init(parsing text: String) throws {
    self = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {  // not this type: try the next
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {  // likewise
      self = .integer(value)
    } else if let value = try? container.decode(Double.self) {  // likewise
      self = .number(value)
    } else if let value = try? container.decode(String.self) {  // likewise
      self = .string(value)
    } else if let value = try? container.decode([JSONValue].self) {  // likewise
      self = .array(value)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

  package subscript(key: String) -> JSONValue? {
    if case .object(let members) = self { members[key] } else { nil }
  }

  package var string: String? {
    if case .string(let text) = self { text } else { nil }
  }

  package var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    default: nil
    }
  }

  package var array: [JSONValue]? {
    if case .array(let values) = self { values } else { nil }
  }

  package var object: [String: JSONValue]? {
    if case .object(let members) = self { members } else { nil }
  }
}
