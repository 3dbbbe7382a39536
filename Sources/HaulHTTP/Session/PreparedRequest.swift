import HaulCore

/// A request with what its session adds: cookies, and the proof of a password.
struct PreparedRequest: Sendable {
  let request: FetchRequest
  let route: Route
  let hasBody: Bool
  fileprivate let space: DigestNonces.Space?
  fileprivate let use: DigestNonces.Use?
  fileprivate let proxyUse: DigestNonces.Use?

  /// Whether it has a password in a form that the server may not want.
  var mayBeChallenged: Bool { space != nil && use == nil }
}

extension HTTPTransport {
  /// - Parameter cookies: those of a request without a session.
  /// - Throws: `proxy`, for a variable of the environment that cannot be read.
  func prepare(
    _ request: FetchRequest, method: String = "GET", hasBody: Bool = false, cookies: CookieJar
  ) throws(TransferError) -> PreparedRequest {
    var sent = request
    let cookie = self.cookies.field(for: request, own: cookies)
    if cookie != request.headers["Cookie"] { sent.setField("Cookie", cookie) }
    if request.hasLeftOrigin, request.mayUseEntries, let login = login(for: request) {
      sent.setField("Authorization", login.basic)
    }
    let space = sent.credentials.map {
      DigestNonces.Space(place: .origin(request.url.origin), credentials: $0)
    }
    let use = space.flatMap { digests.use(in: $0, withBody: hasBody) }
    if let use { sent.setField("Authorization", use.field(method, request.url.pathAndQuery)) }
    let route = try route(for: sent)
    var proxyUse: DigestNonces.Use?
    if case .forwarded(let proxy) = route, let space = DigestNonces.Space(proxy) {
      proxyUse = digests.use(in: space, withBody: hasBody)
      let target = "http://\(request.url.origin.authority)\(request.url.pathAndQuery)"
      if let proxyUse { sent.setField("Proxy-Authorization", proxyUse.field(method, target)) }
    }
    return PreparedRequest(
      request: sent, route: route, hasBody: hasBody, space: space, use: use, proxyUse: proxyUse)
  }

  /// The user's own entry for a host that a server has named.
  private func login(for request: FetchRequest) -> ResourceURL.Credentials? {
    guard request.headers["Authorization"] == nil, request.url.credentials == nil else {
      return nil
    }
    return logins[request.url.origin.host]
  }

  /// Whether the request may succeed when it is prepared again (RFC 9110, section 11.3).
  func learns(
    from status: Int, _ fields: HeaderFields, to prepared: PreparedRequest, isRepeated: Bool
  ) -> Bool {
    switch status {
    case 401:
      guard let space = prepared.space else { return false }
      return digests.learn(
        AuthChallenge.all(in: fields, named: "WWW-Authenticate"), in: space, used: prepared.use,
        isRepeated: isRepeated, withBody: prepared.hasBody)
    case 407:
      guard case .forwarded(let proxy) = prepared.route,
        let space = DigestNonces.Space(proxy)
      else { return false }
      return digests.learn(
        AuthChallenge.all(in: fields, named: "Proxy-Authenticate"), in: space,
        used: prepared.proxyUse, isRepeated: isRepeated, withBody: prepared.hasBody)
    default: return false
    }
  }
}

extension DigestNonces.Space {
  /// The space of a proxy; nil without a user name.
  init?(_ proxy: ProxyRules.Proxy) {
    guard let credentials = proxy.credentials else { return nil }
    self.init(place: .proxy(proxy), credentials: credentials)
  }
}

extension FetchRequest {
  fileprivate mutating func setField(_ name: String, _ value: String?) {
    headers.remove(name)
    if let value { headers.append(name, value) }
  }
}
