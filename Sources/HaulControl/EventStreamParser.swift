/// Splits a stream of server-sent events (HTML standard, section 9.2) into messages.
package struct EventStreamParser: Sendable {
  package struct Frame: Hashable, Sendable {
    package var name = ""
    /// The id of this message; nil if it has none.
    package var id: String?
    package var data: [UInt8] = []
  }

  /// The longest line, in bytes: far more than any transfer needs.
  private static let maximumLine = 16 << 20
  private var line: [UInt8] = []
  private var frame = Frame()

  package init() {}

  /// The messages that end in these bytes.
  /// - Throws: `StrictJSON.Malformed` for a line that is too long.
  package mutating func take(
    _ bytes: some Sequence<UInt8>
  ) throws(StrictJSON.Malformed) -> [Frame] {
    var frames: [Frame] = []
    for byte in bytes {
      guard byte == UInt8(ascii: "\n") else {
        line.append(byte)
        guard line.count <= Self.maximumLine else {
          throw StrictJSON.Malformed("a line of the event stream is too long")
        }
        continue
      }
      if line.last == UInt8(ascii: "\r") { line.removeLast() }
      if line.isEmpty {
        if !frame.name.isEmpty || !frame.data.isEmpty { frames.append(frame) }
        frame = Frame()
      } else {
        takeField()
      }
      line.removeAll(keepingCapacity: true)
    }
    return frames
  }

  /// A line that begins with a colon is a comment.
  private mutating func takeField() {
    let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
    var value = line[min(colon + 1, line.endIndex)...]
    if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
    switch String(decoding: line[..<colon], as: UTF8.self) {
    case "event": frame.name = String(decoding: value, as: UTF8.self)
    case "id": frame.id = String(decoding: value, as: UTF8.self)
    case "data":
      if !frame.data.isEmpty { frame.data.append(UInt8(ascii: "\n")) }
      frame.data += value
    default: break
    }
  }
}
