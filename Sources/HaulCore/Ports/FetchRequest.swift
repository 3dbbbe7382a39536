/// One GET, with the range it asks for.
public struct FetchRequest: Sendable, Hashable {
  /// What is asked for. Its `text` has the user information, which `headersToSend` sends as
  /// `Authorization`, and no fragment; print its description only.
  public var url: ResourceURL
  /// The caller's own fields, those of `prepare` included. What is sent is `headersToSend`.
  public var headers: HeaderFields
  /// The first byte asked for; nil sends no `Range` at all.
  public var firstByte: Int64?
  /// The last byte asked for, inclusive as on the wire; nil asks for the rest.
  public var lastByte: Int64?
  /// Sent as `If-Range`: a strong entity tag or a strong date (RFC 9110, section 13.1.5).
  public var ifRange: String?
  /// Whether the server's certificate is not to be checked.
  public var allowInsecure = false
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

  /// A request for a range, or for all of it; managers make them, and tests of a transport.
  public init(
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
  public func redirected(to target: ResourceURL) -> FetchRequest {
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

extension FetchRequest {
  /// All fields that a transport has to send: the caller's, `Range`, `If-Range`, `Authorization` of
  /// the address, and `Accept-Encoding: identity`, as ranges are of the bytes themselves. `Host`,
  /// and `User-Agent` where there is none, are the transport's.
  public var headersToSend: HeaderFields { HeaderFields(fieldsToSend()) }

  /// The same as pairs.
  /// - Parameters:
  ///   - codings: the content codings that the transport undoes.
  ///   - defaults: what is sent where the caller says nothing else.
  package func fieldsToSend(
    codings: String = "identity", defaults: [(String, String)] = []
  ) -> [(String, String)] {
    var own: [(String, String)] = []
    own.reserveCapacity(8)
    own.append(("Accept-Encoding", codings))
    if let firstByte {
      own.append(("Range", "bytes=\(firstByte)-\(lastByte.map(String.init) ?? "")"))
      if let ifRange { own.append(("If-Range", ifRange)) }
    }
    let replacing = own.count
    own += defaults
    if let credentials = url.credentials { own.append(("Authorization", credentials.basic)) }
    guard !headers.fields.isEmpty else { return own }
    var rest = headers
    for (name, _) in own[..<replacing] { rest.remove(name) }
    var fields = rest.fields.map { ($0.name, $0.value) } + own[..<replacing]
    for (name, value) in own[replacing...] where rest[name] == nil { fields.append((name, value)) }
    return fields
  }
}
