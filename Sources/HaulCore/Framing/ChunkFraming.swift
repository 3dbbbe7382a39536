/// The framing of a chunked body (RFC 9112, section 7.1), without what a strict parser refuses:
/// white space after a size and line feeds alone. Extensions and trailers are dropped; nobody
/// reads them. The content of chunks is not touched.
struct ChunkFraming: Sendable {
  private enum Part {
    case size, padding, chunkExtension, sizeFeed
    case data
    case dataEnd, dataFeed
    case trailerStart, trailer, lastFeed
  }

  /// Limits what is dropped without a byte of content.
  private static let maximumLine = 64 << 10

  private var part = Part.size
  private var size: Int64 = 0
  private var digits = 0
  private var dropped = 0
  /// What the chunk still lacks.
  private var left: Int64 = 0
  private(set) var wasRepaired = false
  private(set) var hasEnded = false

  /// Takes bytes from `position` to the end of the body.
  /// - Returns: where it stopped.
  mutating func take(
    from position: Int, _ edited: inout EditedBytes
  ) throws(TransferError) -> Int {
    var position = position
    let count = edited.source.count
    while position < count, !hasEnded {
      if part == .data {
        let run = min(left, Int64(count - position))
        position += Int(run)
        left -= run
        if left == 0 { part = .dataEnd }
      } else {
        try take(edited.source[position], at: position, &edited)
        position += 1
      }
    }
    return position
  }

  private mutating func take(
    _ byte: UInt8, at position: Int, _ edited: inout EditedBytes
  ) throws(TransferError) {
    switch (part, byte) {
    case (.size, _) where PercentCoding.nibble(byte) != nil: try add(digit: byte)
    case (.size, UInt8(ascii: "\r")) where digits > 0,
      (.padding, UInt8(ascii: "\r")), (.chunkExtension, UInt8(ascii: "\r")):
      part = .sizeFeed
    case (.size, UInt8(ascii: "\n")) where digits > 0,
      (.padding, UInt8(ascii: "\n")), (.chunkExtension, UInt8(ascii: "\n")):
      insertReturn(at: position, &edited)
      endSize()
    case (.size, UInt8(ascii: " ")) where digits > 0, (.size, UInt8(ascii: "\t")) where digits > 0,
      (.padding, UInt8(ascii: " ")), (.padding, UInt8(ascii: "\t")):
      wasRepaired = true
      part = .padding
      try drop(at: position, &edited)
    case (.size, UInt8(ascii: ";")) where digits > 0, (.padding, UInt8(ascii: ";")),
      (.chunkExtension, _):
      part = .chunkExtension
      try drop(at: position, &edited)
    case (.size, _), (.padding, _): throw Self.invalid("the size of a chunk cannot be read")
    case (.sizeFeed, UInt8(ascii: "\n")): endSize()
    case (.dataEnd, UInt8(ascii: "\r")): part = .dataFeed
    case (.dataEnd, UInt8(ascii: "\n")):
      insertReturn(at: position, &edited)
      beginSize()
    case (.dataFeed, UInt8(ascii: "\n")): beginSize()
    case (.dataEnd, _), (.dataFeed, _), (.data, _):
      throw Self.invalid("a chunk is longer than its size")
    default: try takeOfTrailers(byte, at: position, &edited)
    }
  }

  private mutating func takeOfTrailers(
    _ byte: UInt8, at position: Int, _ edited: inout EditedBytes
  ) throws(TransferError) {
    switch (part, byte) {
    case (.trailerStart, UInt8(ascii: "\r")): part = .lastFeed
    case (.trailerStart, UInt8(ascii: "\n")):
      insertReturn(at: position, &edited)
      hasEnded = true
    case (.lastFeed, UInt8(ascii: "\n")): hasEnded = true
    case (.trailerStart, _), (.trailer, _):
      part = byte == UInt8(ascii: "\n") ? .trailerStart : .trailer
      try drop(at: position, &edited)
    default: throw Self.invalid("a carriage return without a line feed")
    }
  }

  private mutating func add(digit: UInt8) throws(TransferError) {
    digits += 1
    guard digits <= 64, size >> 59 == 0, let value = PercentCoding.nibble(digit) else {
      throw Self.invalid("the size of a chunk cannot be read")
    }
    size = size << 4 | Int64(value)
  }

  private mutating func beginSize() { (part, size, digits, dropped) = (.size, 0, 0, 0) }

  private mutating func endSize() {
    (part, left, dropped) = (size == 0 ? .trailerStart : .data, size, 0)
  }

  private mutating func insertReturn(at position: Int, _ edited: inout EditedBytes) {
    wasRepaired = true
    edited.replace(position..<position, with: [UInt8(ascii: "\r")])
  }

  private mutating func drop(
    at position: Int, _ edited: inout EditedBytes
  ) throws(TransferError) {
    dropped += 1
    guard dropped <= Self.maximumLine else {
      throw Self.invalid("a chunk extension or a trailer is larger than 64 KiB")
    }
    edited.replace(position..<(position + 1), with: [])
  }

  private static func invalid(_ why: String) -> TransferError {
    TransferError(.protocolViolation, "the answer is not valid HTTP: \(why)")
  }
}
