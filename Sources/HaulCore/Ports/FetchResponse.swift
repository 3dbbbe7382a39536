/// Status and header fields of the final response, after redirects.
public struct ResponseHead: Sendable, Hashable {
  /// The status code: 200, 206, 404, ….
  public var status: Int
  /// The header fields, as received.
  public var headers: HeaderFields
  /// The address of the response: the target of the last redirect.
  public var url: ResourceURL
  /// Whether there were redirects.
  public var wasRedirected: Bool
  /// What the redirects have made of the request; nil without one, and where a transport does not
  /// say it.
  package var redirection: FetchRequest.Redirection?
  /// The content coding that was decoded.
  package var removedCoding: String?
  /// Set by a transport that has a cache.
  package var cacheUse: CacheUse?
  /// When the copy of a cache was received, in seconds since 1970.
  package var copiedAt: Double?
  /// The start of the body of an S3 store that refuses to send an object, without secrets.
  package var refusal: [UInt8]?
  /// `HTTP/1.0`, `HTTP/1.1` or `HTTP/2`.
  public var version: String

  /// A head; `url` is that of the request if there was no redirect.
  public init(
    status: Int, headers: HeaderFields = HeaderFields(), url: ResourceURL,
    wasRedirected: Bool = false, version: String = "HTTP/1.1"
  ) {
    self.status = status
    self.headers = headers
    self.url = url
    self.wasRedirected = wasRedirected
    self.version = version
  }

  /// The codings of the body in all its fields (RFC 9110, section 5.3), without `identity`; nil if
  /// there is none.
  package var contentCoding: String? {
    let codings = headers.values(of: "Content-Encoding")
      .flatMap { $0.byteSplit { ", \t".utf8.contains($0) } }
      .filter { !["identity", "none"].contains($0.lowercased()) }
    return codings.isEmpty ? nil : codings.joined(separator: ", ")
  }
}

/// A response whose body has not been read. Releasing the body closes the connection.
public struct FetchResponse: Sendable {
  /// The bytes of a body, in order: an `AsyncThrowingStream<any ByteChunk, any Error>`, or a
  /// sequence type of the transport.
  public typealias Body = any AsyncSequence<any ByteChunk, any Error> & Sendable

  /// Status and header fields.
  public let head: ResponseHead
  /// Ends when the body is complete; throws `connectionLost` if the connection closes before.
  /// Throws only `TransferError` and `CancellationError`.
  public let body: Body
  /// The executor where its bytes arrive. Its thread may be blocked for as long as a fast disk
  /// needs. Reading the body there avoids changes of threads. Nil if there is none.
  package let executor: (any TaskExecutor)?
  /// The whole body, if it is short and arrived with its head; `body` has the same bytes.
  package let collected: [any ByteChunk]?

  /// A response whose body is still to come. It has one reader, which may release it before its
  /// end; the transport must stop then.
  public init(head: ResponseHead, body: Body) {
    self.init(head: head, body: body, executor: nil)
  }

  /// A response with its whole body.
  public init(head: ResponseHead, bytes: any ByteChunk) {
    let chunks = bytes.count > 0 ? [bytes] : []
    self.init(head: head, body: CollectedBody(chunks: chunks), collected: chunks)
  }

  package init(
    head: ResponseHead, body: Body, executor: (any TaskExecutor)?,
    collected: [any ByteChunk]? = nil
  ) {
    self.head = head
    self.body = body
    self.executor = executor
    self.collected = collected
  }

  private init(head: ResponseHead, body: Body, collected: [any ByteChunk]) {
    self.init(head: head, body: body, executor: nil, collected: collected)
  }
}

/// A body that has arrived.
package struct CollectedBody: AsyncSequence, Sendable {
  package typealias Element = any ByteChunk
  package typealias Failure = any Error

  package let chunks: [any ByteChunk]

  package init(chunks: [any ByteChunk]) { self.chunks = chunks }

  package struct AsyncIterator: ChunkIterator {
    fileprivate var base: [any ByteChunk].Iterator

    package mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws -> (any ByteChunk)? {
      base.next()
    }
  }

  package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: chunks.makeIterator()) }
}
