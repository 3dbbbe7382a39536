/// Makes the HTTP/1.1 answers of careless servers readable for a strict parser (decision 024).
///
/// It gets the bytes of one connection in pieces; what it returns does not depend on where they are
/// cut. A clean head and the content of every body pass unchanged.
package struct ResponseNormalizer: Sendable {
  private enum Phase {
    case passing, head
    case chunked(ChunkFraming)
  }

  private var phase = Phase.passing
  /// Whether the next answer is one to HEAD.
  private var answersHead = false
  /// A head that has begun and is not clean, or not complete.
  private var partial = PartialHead()
  /// Whether a body has ended whose chunks had to be repaired: the connection must be closed.
  package private(set) var hasEndedRepairedBody = false
  /// The head of a refusal in the last piece, whose body has chunks. If `take` throws, it is still
  /// the answer, because nobody needs that body.
  package private(set) var refusal: [UInt8]?

  package init() {}

  /// A request was sent: the head of its answer comes next.
  package mutating func expectAnswer(toHead: Bool = false) {
    (phase, answersHead) = (.head, toHead)
    partial = PartialHead()
  }

  /// The bytes for the parser; nil if it gets `bytes` themselves.
  /// - Throws: `protocol-violation` for what has no certain meaning.
  package mutating func take(_ bytes: UnsafeRawBufferPointer) throws(TransferError) -> [UInt8]? {
    refusal = nil
    var edited = EditedBytes(bytes)
    var position = 0
    while position < bytes.count {
      switch phase {
      case .passing: position = bytes.count
      case .head: position = try takeHead(from: position, &edited)
      case .chunked(var framing):
        position = try framing.take(from: position, &edited)
        phase = framing.hasEnded ? .passing : .chunked(framing)
        if framing.hasEnded, framing.wasRepaired { hasEndedRepairedBody = true }
      }
    }
    return edited.result()
  }

  private mutating func takeHead(
    from position: Int, _ edited: inout EditedBytes
  ) throws(TransferError) -> Int {
    let rest = UnsafeRawBufferPointer(rebasing: edited.source[position...])
    if partial.isEmpty, let head = CleanHead(rest) {
      if answersHead, head.needsFraming {
        let end = position + head.end - 2
        edited.replace(end..<end, with: Self.framing)
      }
      continueAfter(status: head.status, isChunked: head.isChunked) { Array(rest[..<head.end]) }
      return position + head.end
    }
    guard let count = try partial.take(rest) else {
      edited.replace(position..<edited.source.count, with: [])
      return edited.source.count
    }
    let head = try RepairedHead(partial.bytes)
    partial = PartialHead()
    var bytes = head.bytes
    if answersHead, bytes.withUnsafeBytes({ CleanHead($0) })?.needsFraming == true {
      bytes.insert(contentsOf: Self.framing, at: bytes.count - 2)
    }
    edited.replace(position..<(position + count), with: bytes)
    continueAfter(status: head.status, isChunked: head.isChunked) { bytes }
    return position + count
  }

  /// For an answer to HEAD without a length. The parser takes it for one that ends with its
  /// connection; so the connection can be used again, and the length stays unknown (RFC 9112,
  /// section 6.1).
  private static let framing = Array("Transfer-Encoding: chunked\r\n".utf8)

  /// After an interim answer comes another head (RFC 9110, section 15.2).
  private mutating func continueAfter(status: Int, isChunked: Bool, _ bytes: () -> [UInt8]) {
    if status >= 400, isChunked { refusal = bytes() }
    if (100..<200).contains(status), status != 101 {
      phase = .head
    } else {
      phase = isChunked ? .chunked(ChunkFraming()) : .passing
    }
  }
}

/// Bytes with replacements; nothing is copied until the first one.
struct EditedBytes {
  let source: UnsafeRawBufferPointer
  private var edited: [UInt8]?
  /// Up to where the source is in `edited`.
  private var copied = 0

  init(_ source: UnsafeRawBufferPointer) { self.source = source }

  /// Replaces a range that begins at or after the end of the last one.
  mutating func replace(_ range: Range<Int>, with bytes: [UInt8]) {
    var edited = edited.take() ?? []
    edited.append(contentsOf: source[copied..<range.lowerBound])
    edited.append(contentsOf: bytes)
    copied = range.upperBound
    self.edited = edited
  }

  /// Nil if nothing was replaced.
  func result() -> [UInt8]? { edited.map { $0 + source[copied...] } }
}
