/// Status line and header fields of a final response, redirects followed.
public struct ResponseHead: Sendable, Hashable {
  /// The status code: 200, 206, 404, ….
  public var status: Int
  /// Its header fields, as they came.
  public var headers: HeaderFields
  /// Where the response came from: where the last redirect led.
  public var url: ResourceURL
  /// Whether redirects led there.
  public var wasRedirected: Bool
  /// The content coding of the body that was undone.
  package var undoneCoding: String?
  /// `HTTP/1.0`, `HTTP/1.1` or `HTTP/2`.
  public var version: String

  /// A head; `url` is the request's where no redirect was followed.
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
}

/// A response whose body has not been read. Letting go of the body closes the connection.
public struct FetchResponse: Sendable {
  /// The bytes of a body, in order: an `AsyncThrowingStream<any ByteChunk, any Error>`, or a
  /// sequence of the transport's own.
  public typealias Body = any AsyncSequence<any ByteChunk, any Error> & Sendable

  /// Status and header fields.
  public let head: ResponseHead
  /// Ends when the body is whole; where the connection closed before, it throws `connectionLost`.
  /// Throws only `TransferError` and `CancellationError`.
  public let body: Body
  /// Where its bytes arrive, on a thread that may be kept for as long as a prompt disk takes: who
  /// reads the body there costs no change of threads. Nil where no such thread is known.
  package let executor: (any TaskExecutor)?
  /// The whole of the body, where it was short and came with its head; `body` gives the same then.
  package let collected: [any ByteChunk]?

  /// A response with a body that is still to come. It has one reader, which may let go of it before
  /// its end: what brings it must stop then.
  public init(head: ResponseHead, body: Body) {
    self.init(head: head, body: body, executor: nil)
  }

  /// A response with all of its body.
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

/// A body that is there.
package struct CollectedBody: AsyncSequence, Sendable {
  package typealias Element = any ByteChunk
  package typealias Failure = any Error

  package let chunks: [any ByteChunk]

  package init(chunks: [any ByteChunk]) { self.chunks = chunks }

  package struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate var base: [any ByteChunk].Iterator

    package mutating func next() async throws -> (any ByteChunk)? { base.next() }

    package mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws -> (any ByteChunk)? {
      base.next()
    }
  }

  package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: chunks.makeIterator()) }
}
