/// Bytes as they came from the network: borrowed, never copied on the way to the disk.
package protocol ByteChunk: Sendable {
  var count: Int { get }
  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result
}

/// One GET, with the range it asks for.
package struct FetchRequest: Sendable, Hashable {
  package var url: ResourceURL
  package var headers: HeaderFields
  /// The first byte asked for; nil sends no `Range` at all.
  package var firstByte: Int64?
  /// The last byte asked for, inclusive as on the wire; nil asks for the rest.
  package var lastByte: Int64?
  /// Sent as `If-Range`: a strong entity tag or a strong date (RFC 9110, section 13.1.5).
  package var ifRange: String?
  package var allowInsecure = false
  /// Ask for a coded body and undo its coding, up to so many bytes; nil to ask for the bytes as
  /// they are.
  package var decodingLimit: Int64?
  /// Whether another fetch of the same transfer is under way: such a one is given a connection of
  /// its own.
  package var isAdditional = false
  /// Whether it may share a connection with other transfers, as a stream of HTTP/2.
  package var prefersHTTP2 = false
  /// Hosts that may be told secrets when a redirect leads there over https.
  package var trustedHosts: Set<String> = []
  /// Whether a redirect led to another origin, which must be told nothing secret.
  package private(set) var hasLeftOrigin = false

  package init(
    url: ResourceURL, headers: HeaderFields = HeaderFields(), firstByte: Int64? = nil,
    lastByte: Int64? = nil,
    ifRange: String? = nil, allowInsecure: Bool = false
  ) {
    self.url = url
    self.headers = headers
    self.firstByte = firstByte
    self.lastByte = lastByte
    self.ifRange = ifRange
    self.allowInsecure = allowInsecure
  }

  /// What may go to another origin.
  private static let harmlessHeaders: Set = ["user-agent", "accept", "accept-language"]

  /// The request at the address where a redirect leads: a change of scheme, host or port leaves
  /// every secret behind (RFC 9110, section 15.4), unless it is to a trusted host over https.
  package func redirected(to target: ResourceURL) -> FetchRequest {
    var next = self
    let isTrusted = target.origin.scheme == "https" && trustedHosts.contains(target.origin.host)
    // User information of the first address still holds within its origin.
    next.url = isTrusted ? target.taking(url.credentials) : target.adoptingCredentials(of: url)
    guard target.origin != url.origin else { return next }
    next.allowInsecure = false
    if !isTrusted {
      next.headers.keepOnly(Self.harmlessHeaders)
      next.hasLeftOrigin = true
    }
    return next
  }
}

/// Status line and header fields of a final response, redirects followed.
package struct ResponseHead: Sendable, Hashable {
  package var status: Int
  package var headers: HeaderFields
  /// Where the response came from.
  package var url: ResourceURL
  /// Whether redirects led there.
  package var wasRedirected: Bool
  /// The content coding of the body that was undone.
  package var undoneCoding: String?
  /// `HTTP/1.0`, `HTTP/1.1` or `HTTP/2`.
  package var version: String

  package init(
    status: Int, headers: HeaderFields, url: ResourceURL, wasRedirected: Bool = false,
    version: String = "HTTP/1.1"
  ) {
    self.status = status
    self.headers = headers
    self.url = url
    self.wasRedirected = wasRedirected
    self.version = version
  }
}

/// A response whose body has not been read. Letting go of the body closes the connection.
package struct FetchResponse: Sendable {
  package typealias Body = any AsyncSequence<any ByteChunk, any Error> & Sendable

  package let head: ResponseHead
  /// Throws only `TransferError` and `CancellationError`.
  package let body: Body
  /// Where its bytes arrive, on a thread that may be kept for as long as a prompt disk takes: who
  /// reads the body there costs no change of threads. Nil where no such thread is known.
  package let executor: (any TaskExecutor)?
  /// The whole of the body, where it was short and came with its head; `body` gives the same then.
  package let collected: [any ByteChunk]?

  package init(
    head: ResponseHead, body: Body, executor: (any TaskExecutor)? = nil,
    collected: [any ByteChunk]? = nil
  ) {
    self.head = head
    self.body = body
    self.executor = executor
    self.collected = collected
  }
}

/// A request under way, for whoever wants no answer any more.
package protocol FetchHandle: Sendable {
  /// Closes the connection, unless the answer is there; it is told in any case.
  func cancel()
}

/// The network, as a port.
package protocol Transport: Sendable {
  /// Sends the request, follows redirects, and returns when the final head is there.
  func fetch(_ request: FetchRequest) async throws -> FetchResponse
  /// As `fetch`, without a task that waits: `answer` is called once, on any thread, and must not
  /// block. A short body is collected. Nil, and nothing is sent or told, where only `fetch` will
  /// do.
  func begin(
    _ request: FetchRequest,
    _ answer: @escaping @Sendable (Result<FetchResponse, any Error>) -> Void
  ) -> (any FetchHandle)?
}

extension Transport {
  package func begin(
    _ request: FetchRequest,
    _ answer: @escaping @Sendable (Result<FetchResponse, any Error>) -> Void
  ) -> (any FetchHandle)? { nil }
}
