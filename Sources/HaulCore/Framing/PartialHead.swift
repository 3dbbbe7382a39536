/// A head of an answer that arrives in pieces.
struct PartialHead: Sendable {
  /// More than any server sends; curl has the same limit.
  static let maximumSize = 300 << 10

  private(set) var bytes: [UInt8] = []
  private var lineStart = 0
  /// Where the status line begins. Empty lines before it do not count (RFC 9112, section 2.2).
  private var start: Int?

  var isEmpty: Bool { bytes.isEmpty }

  /// Takes bytes until the empty line that ends the head.
  /// - Returns: how many; nil if it took all, and the head is not complete.
  /// - Throws: `protocol-violation` when it is too large, or no HTTP.
  mutating func take(_ rest: UnsafeRawBufferPointer) throws(TransferError) -> Int? {
    var taken = 0
    while let feed = rest[taken...].firstIndex(of: UInt8(ascii: "\n")) {
      bytes.append(contentsOf: rest[taken...feed])
      taken = feed + 1
      try check()
      let line = bytes[lineStart...].dropLast()
      let isEmpty = line.isEmpty || line.elementsEqual([UInt8(ascii: "\r")])
      if isEmpty, start != nil { return taken }
      if !isEmpty, start == nil { start = lineStart }
      lineStart = bytes.count
    }
    bytes.append(contentsOf: rest[taken...])
    try check()
    return nil
  }

  private func check() throws(TransferError) {
    guard bytes.count <= Self.maximumSize else {
      throw TransferError(.protocolViolation, "the header of the answer is larger than 300 KiB")
    }
    let line = bytes[(start ?? lineStart)...]
    let isHTTP = zip(line, "http/".utf8).allSatisfy { FieldScanner.lowercased($0) == $1 }
    guard isHTTP || line.elementsEqual([UInt8(ascii: "\r")]) || isBlank(line) else {
      throw TransferError(.protocolViolation, "the answer is not HTTP", advice: "check the port")
    }
  }

  /// Whether it is an empty line before the status line.
  private func isBlank(_ line: ArraySlice<UInt8>) -> Bool {
    start == nil && (line.elementsEqual([0x0A]) || line.elementsEqual([0x0D, 0x0A]))
  }
}
