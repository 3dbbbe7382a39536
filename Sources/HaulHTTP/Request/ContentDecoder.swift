import CHaulCoding
import HaulCore
import NIOCore

/// The content codings that can be decoded.
package enum ContentCodings {
  fileprivate static let known: [String: haul_coding] = [
    "gzip": HAUL_GZIP, "x-gzip": HAUL_GZIP, "deflate": HAUL_DEFLATE, "br": HAUL_BROTLI,
  ]

  /// Whether a body with this coding could be decoded.
  package static func canDecode(_ coding: String) -> Bool {
    let kind = known[coding.lowercased()]
    return kind != nil && (kind != HAUL_BROTLI || haul_has_brotli() != 0)
  }
}

/// Decodes one content coding (RFC 9110, section 8.4.1), with a limit for the output.
final class ContentDecoder {
  /// The supported codings, as in `Accept-Encoding`.
  static let accepted = haul_has_brotli() == 0 ? "gzip, deflate" : "gzip, deflate, br"
  private static let outputChunk = 256 << 10

  private let decoder: OpaquePointer
  private let coding: String
  private let limit: Int64
  /// A coding may make a body longer, but not endless, like gzip members without content.
  private static let overhead: Int64 = 64 << 10

  /// The encoded bytes that are being decoded, and how many of them have been.
  private var chunk: (any ByteChunk)?
  private var taken = 0
  private var read: Int64 = 0
  private var written: Int64 = 0
  private var hasEnded = false

  /// - Throws: `not-yet-supported` for an unknown coding.
  init(_ coding: String, limit: Int64) throws(TransferError) {
    guard let kind = ContentCodings.known[coding.lowercased()],
      let decoder = haul_decoder_make(kind)
    else {
      throw TransferError(
        .notYetSupported,
        "the server sent the content coding '\(coding)', which cannot be decoded here",
        advice: "save it as it is"
      ).remedied(by: .noDecoding)
    }
    self.decoder = decoder
    self.coding = coding
    self.limit = limit
  }

  deinit { haul_decoder_free(decoder) }

  /// Takes the next encoded bytes, once `next` has returned nil.
  func put(_ chunk: any ByteChunk) {
    (self.chunk, taken) = (chunk, 0)
    read += Int64(chunk.count)
  }

  /// The next decoded bytes; nil when more encoded bytes are needed. One buffer at a time, because
  /// few encoded bytes may be very many decoded ones.
  /// - Throws: `protocol-violation` when they are not valid in the coding; `too-large`; `internal`
  ///   when memory runs out.
  func next() throws(TransferError) -> ByteBuffer? {
    while let chunk {
      var buffer = ByteBuffer()
      let end = chunk.withBytes { bytes in
        var input = bytes.baseAddress?.advanced(by: taken).assumingMemoryBound(to: UInt8.self)
        var left = bytes.count - taken
        defer { taken = bytes.count - left }
        return decode(&input, &left, into: &buffer)
      }
      written += Int64(buffer.readableBytes)
      guard written <= limit, read / 2 - Self.overhead <= limit else { throw tooLarge }
      hasEnded = end == HAUL_ENDED
      switch end {
      case HAUL_WANTS_OUTPUT: break
      case HAUL_WANTS_INPUT, HAUL_ENDED: self.chunk = nil
      case HAUL_NO_MEMORY: throw TransferError(.internal, "out of memory")
      default: throw damaged
      }
      if buffer.readableBytes > 0 { return buffer }
    }
    return nil
  }

  private func decode(
    _ input: inout UnsafePointer<UInt8>?, _ left: inout Int, into buffer: inout ByteBuffer
  ) -> haul_decoded {
    var end = HAUL_WANTS_INPUT
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.outputChunk) { target in
      var output = target.baseAddress?.assumingMemoryBound(to: UInt8.self)
      var room = target.count
      end = haul_decode(decoder, &input, &left, &output, &room)
      return target.count - room
    }
    return end
  }

  /// - Parameter hasMarkedEnd: whether an empty body is known to be complete: it is the coded form
  ///   of an empty file, for many servers.
  /// - Throws: `connection-lost` when the encoded stream is incomplete.
  func finish(hasMarkedEnd: Bool) throws(TransferError) {
    guard hasEnded || (hasMarkedEnd && read == 0) else {
      throw TransferError(
        .connectionLost, "the \(coding) stream of the body ended early", isRetryable: true)
    }
  }

  private var tooLarge: TransferError {
    TransferError(
      .tooLarge, "the decoded file has more than \(limit) bytes", advice: "allow more"
    ).remedied(by: .maximumSize)
  }

  private var damaged: TransferError {
    TransferError(
      .protocolViolation,
      "the body is not valid '\(coding)', its declared content coding")
  }
}

/// A decoded body. It ends when the encoded stream ends, or with an error.
struct DecodedBody: AsyncSequence, Sendable {
  typealias Element = any ByteChunk
  typealias Failure = any Error

  let base: FetchResponse.Body
  let coding: String
  let limit: Int64
  /// Whether its framing says where it ends.
  let hasMarkedEnd: Bool

  struct AsyncIterator: ChunkIterator {
    var base: any AsyncIteratorProtocol<any ByteChunk, any Error>
    let decoder: Result<ContentDecoder, TransferError>
    let hasMarkedEnd: Bool

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> (any ByteChunk)? {
      let decoder = try decoder.get()
      while true {
        if let buffer = try decoder.next() { return buffer }
        guard let chunk = try await base.next(isolation: actor) else {
          try decoder.finish(hasMarkedEnd: hasMarkedEnd)
          return nil
        }
        decoder.put(chunk)
      }
    }
  }

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(
      base: base.makeAsyncIterator(),
      decoder: Result { () throws(TransferError) in try ContentDecoder(coding, limit: limit) },
      hasMarkedEnd: hasMarkedEnd)
  }
}

extension FetchResponse {
  /// The same response with its body decoded; unchanged without a coding.
  ///
  /// Validators and digests are removed: they describe the encoded bytes, and prove nothing about
  /// the decoded bytes.
  func decoded(limit: Int64) -> FetchResponse {
    guard head.hasWholeFile, head.headers["content-length"] != "0",
      let coding = head.contentCoding
    else { return self }
    let hasMarkedEnd = !head.endsWithConnection
    var head = head
    head.headers = HeaderFields(
      head.headers.filter { !Self.ofCodedBytes.contains($0.name.lowercased()) }
        .map { ($0.name, $0.value) })
    head.removedCoding = coding
    return FetchResponse(
      head: head,
      body: DecodedBody(
        base: body, coding: coding, limit: limit, hasMarkedEnd: hasMarkedEnd),
      executor: executor)
  }

  private static let ofCodedBytes: Set = [
    "content-encoding", "content-length", "etag", "last-modified", "accept-ranges", "digest",
    "repr-digest", "content-digest", "content-md5",
  ]
}
