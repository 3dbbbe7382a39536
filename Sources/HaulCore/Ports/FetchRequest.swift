/// One GET with its range.
public struct FetchRequest: Sendable, Hashable {
  /// The requested address. Its `text` has the user information, which `headersToSend` sends as
  /// `Authorization`, and no fragment. Print only its description.
  public var url: ResourceURL
  /// The caller's own fields, including those of `prepare`. Send `headersToSend`.
  public var headers: HeaderFields
  /// The first requested byte; nil sends no `Range`.
  public var firstByte: Int64?
  /// The last requested byte, inclusive as in HTTP; nil requests the rest.
  public var lastByte: Int64?
  /// Sent as `If-Range`: a strong entity tag or a strong date (RFC 9110, section 13.1.5).
  public var ifRange: String?
  /// Whether the server's certificate is not checked.
  public var allowInsecure = false
  /// Requests a coded body and decodes at most this many bytes; nil requests the bytes without
  /// coding.
  package var decodingLimit: Int64?
  /// Whether the same transfer has another fetch in progress; this one then gets its own
  /// connection.
  package var isAdditional = false
  /// Whether a cache must ask the server before it answers.
  package var needsConfirmation = false
  /// How many times the usual time an answer may take: a server that prepares the file, or a proxy
  /// that examines it first, begins anew with each request.
  package var patience = 1
  /// Whether a client over TCP asks: it must not get what the user's client certificate opens.
  package var isOfClient = false
  /// Whether it never uses a proxy: it is for a service of this machine.
  package var isDirect = false
  /// Whether it may share a connection with other transfers, as a stream of HTTP/2.
  package var prefersHTTP2 = false
  /// The transfer that sends it. Its requests share cookies, unless all transfers do; nil for a
  /// request of no transfer, which shares them with its redirects.
  package var session: TransferID?
  /// The key that signs it, as a request to an S3 store; nil at another origin, and for any other
  /// resource.
  package var signing: S3Login?
  /// The file of the token that its `Authorization` has, which is read again; nil for none, and at
  /// another origin.
  package var bearerFile: String?
  /// Hosts that may get secrets after a redirect over https.
  package var trustedHosts: Set<String> = []
  /// Whether a redirect led to another origin, which must get no secrets.
  package private(set) var hasLeftOrigin = false
  /// The origin that was asked first, once it was left.
  private var firstOrigin: ResourceURL.Origin?
  /// The origin that redirected here, which may be this one.
  package private(set) var redirectingOrigin: ResourceURL.Origin?

  /// A request for a range, or for everything. Managers create them, and tests of a transport.
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

  /// What redirects have made of a request: it holds for every later one to the same address.
  package struct Redirection: Sendable, Hashable {
    var hasLeftOrigin: Bool
    var redirectingOrigin: ResourceURL.Origin?
  }

  package var redirection: Redirection {
    Redirection(hasLeftOrigin: hasLeftOrigin, redirectingOrigin: redirectingOrigin)
  }

  /// The request for where redirects led before, as it was after all of them: they may have led
  /// away and back, to a path that another origin chose.
  package func redirected(to target: ResourceURL, as redirection: Redirection?) -> FetchRequest {
    var next = redirected(to: target)
    guard let redirection else { return next }
    next.redirectingOrigin = redirection.redirectingOrigin ?? next.redirectingOrigin
    if redirection.hasLeftOrigin { next.dropSecrets() }
    return next
  }

  /// Whether the user's own entries for this host count, after a redirect: they were given for the
  /// first origin, so another port of its host does not get them.
  package var mayUseEntries: Bool {
    guard let firstOrigin else { return true }
    return firstOrigin == url.origin || !firstOrigin.host.isByteEqual(url.origin.host)
  }

  private mutating func dropSecrets() {
    firstOrigin = firstOrigin ?? url.origin
    url = url.taking(nil)
    headers.keepOnly(Self.harmlessHeaders)
    (hasLeftOrigin, allowInsecure, signing, bearerFile) = (true, false, nil, nil)
  }

  /// The address, the fields and the trust of a request that is sent.
  package init(_ request: SendRequest) {
    self.init(
      url: request.url, headers: request.headers, allowInsecure: request.allowInsecure)
    redirectingOrigin = request.namedBy
    if let namer = request.namedBy, namer != request.url.origin {
      (hasLeftOrigin, firstOrigin) = (true, namer)
    }
    session = request.session
    isOfClient = request.isOfClient
    isDirect = request.isDirect
  }

  /// The user name and the password, if they are what it proves itself with.
  package var credentials: ResourceURL.Credentials? {
    guard let field = headers["Authorization"] else { return url.credentials }
    return ResourceURL.Credentials(field: field)
  }

  /// The fields that may be sent to another origin.
  private static let harmlessHeaders: Set = ["user-agent", "accept", "accept-language"]

  /// The request for the target of a redirect. A change of scheme, host or port removes all secrets
  /// (RFC 9110, section 15.4), unless the target is a trusted host over https.
  public func redirected(to target: ResourceURL) -> FetchRequest {
    var next = self
    let isTrusted = target.origin.scheme == "https" && trustedHosts.contains(target.origin.host)
    // User information of the first address is valid for its whole origin.
    next.url = isTrusted ? target.taking(url.credentials) : target.adoptingCredentials(of: url)
    next.redirectingOrigin = url.origin
    guard target.origin != url.origin else { return next }
    next.allowInsecure = false
    next.signing = nil
    next.firstOrigin = firstOrigin ?? url.origin
    if !isTrusted {
      next.bearerFile = nil
      next.headers.keepOnly(Self.harmlessHeaders)
      next.hasLeftOrigin = true
    }
    return next
  }
}

extension FetchRequest {
  /// All fields that a transport must send: the caller's, `Range`, `If-Range`, `Authorization` of
  /// the address, and `Accept-Encoding: identity`, because ranges count bytes without coding. The
  /// transport adds `Host`, and `User-Agent` if there is none.
  public var headersToSend: HeaderFields { HeaderFields(fieldsToSend()) }

  /// The same fields as pairs.
  /// - Parameters:
  ///   - codings: the content codings that the transport decodes.
  ///   - defaults: fields to send unless the caller has set them.
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
