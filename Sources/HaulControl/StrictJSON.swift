package import FoundationEssentials
import HaulCore

/// JSON in which an unknown key is an error.
package enum StrictJSON {
  /// - Throws: `Malformed`; `Problem` for a new transfer that makes no sense.
  package static func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
  {
    guard hasFewValues(data) else {
      throw Malformed("the body has more than \(maximumValues) values")
    }
    do {
      return try JSONDecoder().decode(type, from: data)
    } catch let error as Malformed {
      throw error
    } catch let error as DecodingError {
      throw Malformed(error)
    }
  }

  /// A value in memory may be a hundred times as long as its text.
  private static let maximumValues = 250_000

  /// Counts the commas outside of strings.
  private static func hasFewValues(_ data: Data) -> Bool {
    var (commas, isString, isEscaped) = (0, false, false)
    for byte in data {
      switch byte {
      case _ where isEscaped: isEscaped = false
      case UInt8(ascii: "\\") where isString: isEscaped = true
      case UInt8(ascii: "\""): isString.toggle()
      case UInt8(ascii: ",") where !isString: commas += 1
      default: break
      }
    }
    return commas < maximumValues
  }

  package static func encode(_ value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(value)
  }

  /// A body that is not what the interface documents. It names keys, never values, which may be
  /// secrets.
  package struct Malformed: Error, Hashable {
    package let message: String

    package init(_ message: String) { self.message = message }

    fileprivate init(_ error: DecodingError) {
      message =
        switch error {
        case .keyNotFound(let key, let context):
          "the key '\(key.stringValue)' is missing\(Self.location(context.codingPath))"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
          "a value has the wrong type\(Self.location(context.codingPath))"
        case .dataCorrupted(let context):
          context.codingPath.isEmpty
            ? "the body is not JSON, or has a number that is too large"
            : "a value is wrong\(Self.location(context.codingPath))"
        @unknown default: "the body cannot be read"
        }
    }

    fileprivate static func location(_ path: [any CodingKey]) -> String {
      let words = path.map { $0.intValue.map(String.init) ?? $0.stringValue }
      return words.isEmpty ? "" : " at \(words.joined(separator: "."))"
    }
  }
}

extension Decoder {
  /// The keyed values of an object that has only these keys.
  /// - Throws: `StrictJSON.Malformed` for another key.
  func strictContainer<Key: CodingKey>(
    keyedBy type: Key.Type
  ) throws -> KeyedDecodingContainer<Key> {
    _ = try strictContainer { Key(stringValue: $0) != nil }
    return try container(keyedBy: type)
  }

  /// As `strictContainer(keyedBy:)`.
  func strictContainer(of keys: Set<String>) throws -> KeyedDecodingContainer<AnyKey> {
    try strictContainer(keys.contains)
  }

  private func strictContainer(
    _ isKnown: (String) -> Bool
  ) throws -> KeyedDecodingContainer<AnyKey> {
    let object = try container(keyedBy: AnyKey.self)
    if let key = object.allKeys.first(where: { !isKnown($0.stringValue) }) {
      throw StrictJSON.Malformed(
        "there is no key '\(key.stringValue)'\(StrictJSON.Malformed.location(codingPath))")
    }
    return object
  }
}

extension KeyedDecodingContainer {
  func value<Value: Decodable>(_ key: Key) throws -> Value {
    try decode(Value.self, forKey: key)
  }

  /// Nil for null, and for a missing key.
  func optional<Value: Decodable>(_ key: Key) throws -> Value? {
    try decodeIfPresent(Value.self, forKey: key)
  }

  /// Counts first: a value in memory may be a thousand times as long as its text.
  /// - Throws: `StrictJSON.Malformed` for more values.
  func decodeArray<Value: Decodable>(
    of type: Value.Type, forKey key: Key, atMost limit: Int
  ) throws -> [Value] {
    guard try nestedUnkeyedContainer(forKey: key).count ?? .max <= limit else {
      throw StrictJSON.Malformed("give at most \(limit) \(key.stringValue) at once")
    }
    return try decode([Value].self, forKey: key)
  }
}
