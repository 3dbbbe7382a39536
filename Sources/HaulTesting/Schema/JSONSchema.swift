/// A validator for the part of JSON Schema (draft 2020-12) that Haul's schemas use. An unknown
/// keyword is an error, so that no rule is ignored.
package struct JSONSchema: Sendable {
  /// The schema itself is wrong, or uses an unknown keyword.
  package struct InvalidSchema: Error, Hashable {
    package let message: String
  }

  private let root: JSONValue

  package init(_ root: JSONValue) { self.root = root }

  /// The violations in the value, each with its place; empty if it is valid.
  /// - Parameter definition: the one of `$defs` to follow; nil for the whole schema.
  package func violations(of value: JSONValue, definition: String? = nil) throws -> [String] {
    let schema = try definition.map { try resolve(.string("#/$defs/\($0)")) } ?? root
    return try check(value, schema, at: "$")
  }

  private func check(
    _ value: JSONValue, _ schema: JSONValue, at location: String
  ) throws -> [String] {
    guard let keywords = schema.object else {
      throw InvalidSchema(message: "a schema at \(location) is not an object")
    }
    return try keywords.sorted { $0.key < $1.key }.flatMap { keyword, rule in
      try check(value, keyword, rule, schema, at: location)
    }
  }

  private func check(
    _ value: JSONValue, _ keyword: String, _ rule: JSONValue, _ schema: JSONValue,
    at location: String
  ) throws -> [String] {
    switch keyword {
    case "$schema", "$defs", "title", "description": return []
    case "$ref": return try check(value, try resolve(rule), at: location)
    case "oneOf": return try checkOneOf(value, rule, at: location)
    case "type": return try checkType(value, rule, at: location)
    case "const": return value == rule ? [] : ["\(location): is not \(rule)"]
    case "enum":
      return try list(rule, keyword).contains(value) ? [] : ["\(location): \(value) is not allowed"]
    case "pattern": return try checkPattern(value, rule, at: location)
    case "minimum": return try checkBound(value, rule, at: location) { $0 >= $1 }
    case "maximum": return try checkBound(value, rule, at: location) { $0 <= $1 }
    case "minProperties":
      guard let members = value.object, let least = rule.double else { return [] }
      return Double(members.count) >= least ? [] : ["\(location): has too few members"]
    case "items":
      guard case .array(let items) = value else { return [] }
      return try items.enumerated().flatMap { try check($1, rule, at: "\(location)[\($0)]") }
    case "properties": return try checkProperties(value, rule, at: location)
    case "required": return try checkRequired(value, rule, at: location)
    case "additionalProperties": return try checkAdditional(value, rule, schema, at: location)
    default: throw InvalidSchema(message: "the keyword \(keyword) is not known")
    }
  }
}

extension JSONSchema {
  private func resolve(_ reference: JSONValue) throws -> JSONValue {
    let prefix = "#/$defs/"
    guard let path = reference.string, path.hasPrefix(prefix),
      let target = root["$defs"]?[String(path.dropFirst(prefix.count))]
    else { throw InvalidSchema(message: "the reference \(reference) is not found") }
    return target
  }

  /// On failure, reports the violations of the variant with the fewest.
  private func checkOneOf(
    _ value: JSONValue, _ rule: JSONValue, at location: String
  ) throws -> [String] {
    let results = try list(rule, "oneOf").map { try check(value, $0, at: location) }
    let matches = results.count { $0.isEmpty }
    if matches == 1 { return [] }
    if matches > 1 { return ["\(location): fits \(matches) of the variants, not one"] }
    return results.min { $0.count < $1.count } ?? ["\(location): there is no variant"]
  }

  private func checkType(
    _ value: JSONValue, _ rule: JSONValue, at location: String
  ) throws -> [String] {
    let names = try rule.string.map { [$0] } ?? list(rule, "type").compactMap(\.string)
    guard try names.contains(where: { try isType($0, value) }) else {
      return ["\(location): is not of type \(names.joined(separator: " or "))"]
    }
    return []
  }

  private func isType(_ name: String, _ value: JSONValue) throws -> Bool {
    switch (name, value) {
    case ("null", .null), ("boolean", .bool), ("string", .string), ("array", .array),
      ("object", .object), ("integer", .integer), ("number", .integer), ("number", .number):
      return true
    case ("integer", .number(let number)): return number == number.rounded()
    default:
      guard Self.types.contains(name) else {
        throw InvalidSchema(message: "the type \(name) is not known")
      }
      return false
    }
  }

  private static let types: Set<String> = [
    "null", "boolean", "string", "array", "object", "integer", "number",
  ]

  private func checkPattern(
    _ value: JSONValue, _ rule: JSONValue, at location: String
  ) throws -> [String] {
    guard let pattern = rule.string else { throw InvalidSchema(message: "pattern is not a string") }
    guard let text = value.string else { return [] }
    return text.contains(try Regex(pattern)) ? [] : ["\(location): does not match \(pattern)"]
  }

  private func checkBound(
    _ value: JSONValue, _ rule: JSONValue, at location: String,
    _ holds: (Double, Double) -> Bool
  ) throws -> [String] {
    guard let bound = rule.double else { throw InvalidSchema(message: "a bound is not a number") }
    guard let number = value.double else { return [] }
    return holds(number, bound) ? [] : ["\(location): \(number) is out of bounds"]
  }

  private func checkProperties(
    _ value: JSONValue, _ rule: JSONValue, at location: String
  ) throws -> [String] {
    guard let schemas = rule.object else {
      throw InvalidSchema(message: "properties is not an object")
    }
    return try (value.object ?? [:]).sorted { $0.key < $1.key }.flatMap { name, member in
      try schemas[name].map { try check(member, $0, at: "\(location).\(name)") } ?? []
    }
  }

  private func checkRequired(
    _ value: JSONValue, _ rule: JSONValue, at location: String
  ) throws -> [String] {
    guard let members = value.object else { return [] }
    return try list(rule, "required").compactMap(\.string).filter { members[$0] == nil }
      .map { "\(location): \($0) is missing" }
  }

  private func checkAdditional(
    _ value: JSONValue, _ rule: JSONValue, _ schema: JSONValue, at location: String
  ) throws -> [String] {
    guard rule == .bool(false) else {
      throw InvalidSchema(message: "additionalProperties can only be false")
    }
    let known = schema["properties"]?.object ?? [:]
    return (value.object ?? [:]).keys.filter { known[$0] == nil }.sorted()
      .map { "\(location): \($0) is not allowed here" }
  }

  private func list(_ rule: JSONValue, _ keyword: String) throws -> [JSONValue] {
    guard let list = rule.array else { throw InvalidSchema(message: "\(keyword) is not a list") }
    return list
  }
}
