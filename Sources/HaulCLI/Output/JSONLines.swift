import FoundationEssentials

/// Numbers, dates and encodes the lines of `--json`.
package struct JSONLines: Sendable {
  private var count = 0

  package init() {}

  /// The next line, with its line break.
  /// - Parameter wallSeconds: seconds since 1970.
  package mutating func line(
    _ content: JSONEvent.Content, wallSeconds: Double
  ) throws -> String {
    count += 1
    let event = JSONEvent(number: count, wallSeconds: wallSeconds, content: content)
    return try Self.line(of: event)
  }

  /// A value as a line, with its line break.
  static func line(of value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return harmless(String(decoding: try encoder.encode(value), as: UTF8.self)) + "\n"
  }

  /// The same JSON, with DEL, C1 and invisible formatting as `\u` escapes. The encoder does not
  /// escape them, and the lines may be shown on a terminal.
  static func harmless(_ json: String) -> String {
    guard json.unicodeScalars.contains(where: isUnsafe) else { return json }
    return json.unicodeScalars.reduce(into: "") { text, scalar in
      guard isUnsafe(scalar) else { return text.unicodeScalars.append(scalar) }
      for unit in String(scalar).utf16 {
        text += "\\u" + String(UInt32(unit) + 0x10000, radix: 16).dropFirst()
      }
    }
  }

  private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }

  /// RFC 3339 in UTC with milliseconds, truncated.
  static func time(_ wallSeconds: Double) -> String {
    let whole = wallSeconds.rounded(.down)
    let milliseconds = Int(((wallSeconds - whole) * 1000).rounded(.down))
    let date = Date(timeIntervalSince1970: whole).formatted(.iso8601)
    let digits = String(milliseconds + 1000).dropFirst()
    return "\(date.dropLast()).\(digits)Z"
  }
}
