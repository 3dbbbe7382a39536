package import HaulControl
package import HaulCore

/// Numbers, dates and encodes the lines of `get`, `put` and `watch --json`.
package struct JSONLines: Sendable {
  package enum Content: Sendable {
    /// `index` is the number of the address in the command, from 1; nil in `watch`.
    case event(EventDocument, index: Int?)
    /// The present state of a transfer, in `watch`.
    case transfer(TransferDocument)
    case summary(RunCounts)
  }

  private var count = 0

  package init() {}

  /// The next line, with its line break.
  /// - Parameter wallSeconds: seconds since 1970.
  package mutating func line(_ content: Content, wallSeconds: Double) throws -> String {
    count += 1
    return try Self.line(of: JSONLine(number: count, wallSeconds: wallSeconds, content: content))
  }

  /// The next line, for an event of this process.
  /// - Parameters:
  ///   - index: the number of the address in the command, from 1.
  ///   - wallSeconds: seconds since 1970.
  package mutating func line(
    _ event: TransferEvent, index: Int, wallSeconds: Double
  ) throws -> String {
    let event = EventDocument(
      event, at: wallSeconds, isBackground: false, message: \.commandLineText)
    return try line(.event(event, index: index), wallSeconds: wallSeconds)
  }

  /// A value as a line, with its line break.
  static func line(of value: some Encodable) throws -> String {
    harmless(String(decoding: try StrictJSON.encode(value), as: UTF8.self)) + "\n"
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
}

/// A number and a time around an event, a transfer or the counts, in one flat object.
private struct JSONLine: Encodable {
  let number: Int
  let wallSeconds: Double
  let content: JSONLines.Content

  private enum Key: String, CodingKey {
    case type, seq, time, index
    case completed, failed, cancelled, paused, bytes, duration
  }

  func encode(to encoder: any Encoder) throws {
    var line = encoder.container(keyedBy: Key.self)
    try line.encode(number, forKey: .seq)
    try line.encode(JSONNumber.seconds(wallSeconds), forKey: .time)
    switch content {
    case .event(let event, let index):
      try line.encodeIfPresent(index, forKey: .index)
      try event.encode(to: encoder)
    case .transfer(let transfer):
      try line.encode("transfer", forKey: .type)
      try transfer.encode(to: encoder)
    case .summary(let counts):
      try line.encode("summary", forKey: .type)
      try line.encode(counts.completed, forKey: .completed)
      try line.encode(counts.failed, forKey: .failed)
      try line.encode(counts.cancelled, forKey: .cancelled)
      try line.encode(counts.paused, forKey: .paused)
      try line.encode(counts.bytes, forKey: .bytes)
      try line.encode(JSONNumber.seconds(counts.duration), forKey: .duration)
    }
  }
}
