import HaulCore

/// Bytes of files and of the form around them, read as fast as the connection takes them and the
/// rate limits allow.
struct UploadBody: AsyncSequence, Sendable {
  typealias Element = any ByteChunk
  typealias Failure = any Error

  let input: UploadInput
  let pieces: [UploadPiece]
  /// The number of the part.
  let part: Int
  let context: RunContext
  let progress: UploadProgress

  /// Memory of one upload: this much is read, and about as much waits in the connection.
  static let chunkSize = 256 << 10

  struct AsyncIterator: AsyncIteratorProtocol {
    let body: UploadBody
    private var piece = 0
    /// In the piece.
    private var offset: Int64 = 0

    init(_ body: UploadBody) { self.body = body }

    mutating func next() async throws -> (any ByteChunk)? {
      while piece < body.pieces.count, offset == body.pieces[piece].length {
        (piece, offset) = (piece + 1, 0)
      }
      guard piece < body.pieces.count else { return nil }
      let rest = body.pieces[piece].length - offset
      body.progress.beginRead(body.part)
      let most = Int(Swift.min(rest, Int64(UploadBody.chunkSize)))
      let count = try await body.context.takeRate(upTo: most)
      let bytes = try await body.read(count, of: body.pieces[piece], at: offset)
      offset += Int64(count)
      body.progress.take(count, of: body.part)
      return bytes
    }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> (any ByteChunk)? {
      try await next()
    }
  }

  /// In bytes.
  var length: Int64 { pieces.reduce(0) { $0 + $1.length } }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

  private func read(
    _ count: Int, of piece: UploadPiece, at offset: Int64
  ) async throws(TransferError) -> [UInt8] {
    switch piece {
    case .bytes(let bytes): Array(bytes[Int(offset)..<(Int(offset) + count)])
    case .file(let number, let range):
      try await input.read(count, of: number, at: range.lowerBound + offset, context.engine)
    }
  }
}

extension UploadInput {
  /// The bytes of the source that a message sends, and their number; nil if that is not known.
  /// - Parameter number: how many bodies of a stream have ended.
  func body(
    of message: UploadMessage, number: Int, _ context: RunContext, _ progress: UploadProgress
  ) -> (SendRequest.Body?, Int64?) {
    if message.sendsStream, let stream {
      let body = StreamBody(stream: stream, number: number, context: context, progress: progress)
      return (body, nil)
    }
    guard let pieces = message.pieces ?? message.range.map({ [.file(0, $0)] }) else {
      return (nil, 0)
    }
    let body = UploadBody(
      input: self, pieces: pieces, part: message.part, context: context, progress: progress)
    return (body, body.length)
  }
}

extension RunContext {
  /// How many bytes the rate limits allow, at least one; returns when they may be sent.
  func takeRate(upTo count: Int) async throws -> Int {
    let count = try await take(upTo: count)
    return try await engine.take(upTo: count, for: id)
  }
}
