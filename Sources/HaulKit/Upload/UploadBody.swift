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
  /// A chunk costs some changes of thread: a connection that is fast for longer than its buffers
  /// explain gets larger ones. A slow one must take each within the idle timeout.
  private static let maximumChunkSize = 1 << 20
  /// A chunk is so much of what was taken without a pause.
  private static let chunkShare = 64
  /// A longer time between two chunks is a pause.
  private static let pause: Duration = .milliseconds(2)

  struct AsyncIterator: ChunkIterator {
    let body: UploadBody
    private var piece = 0
    /// In the piece.
    private var offset: Int64 = 0
    /// How many bytes the connection has taken without a pause.
    private var taken = 0
    /// When it was given the last chunk.
    private var given: Instant?

    init(_ body: UploadBody) { self.body = body }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> (any ByteChunk)? {
      while piece < body.pieces.count, offset == body.pieces[piece].length {
        (piece, offset) = (piece + 1, 0)
      }
      guard piece < body.pieces.count else { return nil }
      let rest = body.pieces[piece].length - offset
      body.progress.beginRead(body.part)
      let most = Int(Swift.min(rest, Int64(chunkSize())))
      let count = try await body.context.takeRate(upTo: most)
      let bytes = try await body.read(count, of: body.pieces[piece], at: offset)
      offset += Int64(count)
      body.progress.take(count, of: body.part)
      (taken, given) = (taken + count, body.context.engine.clock.now)
      return bytes
    }

    private mutating func chunkSize() -> Int {
      if let given, body.context.engine.clock.now - given > UploadBody.pause { taken = 0 }
      let share = Swift.max(UploadBody.chunkSize, taken / UploadBody.chunkShare)
      return Swift.min(share, UploadBody.maximumChunkSize)
    }
  }

  private static let mostHeld = 64 << 10

  /// Itself; or its bytes if they are few: then no task reads them while they are sent.
  /// - Throws: why they cannot be read.
  func heldIfShort() async throws -> SendRequest.Body {
    guard length <= Self.mostHeld, !context.isRateLimited, !context.engine.throttle.isLimited else {
      return self
    }
    progress.beginRead(part)
    var bytes: [UInt8] = []
    for piece in pieces {
      bytes += try await read(Int(piece.length), of: piece, at: 0)
    }
    progress.endRead(part)
    return Bytes(bytes) { [progress, part, count = bytes.count] in
      progress.beginBody(of: part)
      progress.take(count, of: part)
    }
  }

  /// In bytes.
  var length: Int64 { pieces.reduce(0) { $0 + $1.length } }

  /// Perhaps again, after the challenge of a server.
  func makeAsyncIterator() -> AsyncIterator {
    progress.beginBody(of: part)
    return AsyncIterator(self)
  }

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
