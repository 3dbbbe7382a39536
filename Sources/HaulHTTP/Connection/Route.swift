import HaulCore

/// How the bytes of a request reach its origin.
enum Route: Hashable, Sendable {
  case direct
  /// Through an HTTP proxy, with the whole address in the request (RFC 9112, section 3.2.2).
  case forwarded(ProxyRules.Proxy)
  /// Through a tunnel of an HTTP proxy that the client opens, as it must for HTTP/2 (RFC 9110,
  /// section 9.3.6).
  case tunnel(ProxyRules.Proxy)
  /// The same to this origin, with a handshake and TLS of Haul's own.
  case connect(ProxyRules.Proxy, ResourceURL.Origin)
  /// Through a tunnel of a SOCKS5 proxy to this origin.
  case socks(ProxyRules.Proxy, ResourceURL.Origin)

  /// Over HTTP/1.1.
  /// - Throws: `proxy`, for a variable of the environment that cannot be read.
  init(to origin: ResourceURL.Origin, by rules: ProxyRules) throws(TransferError) {
    guard let proxy = try rules.proxy(for: origin) else {
      self = .direct
      return
    }
    switch proxy.kind {
    case .socks5: self = .socks(proxy, origin)
    case .http where origin.scheme == "http": self = .forwarded(proxy)
    case .http: self = .connect(proxy, origin)
    }
  }

  var proxy: ProxyRules.Proxy? {
    switch self {
    case .direct: nil
    case .forwarded(let proxy), .tunnel(let proxy), .connect(let proxy, _), .socks(let proxy, _):
      proxy
    }
  }

  /// Whether the bytes between Haul and the origin pass through unread.
  var isTunnel: Bool {
    switch self {
    case .direct, .forwarded: false
    case .tunnel, .connect, .socks: true
    }
  }

  /// Whether the client may choose the protocol; not in a tunnel where Haul does TLS itself.
  var mayUseHTTP2: Bool {
    switch self {
    case .direct, .tunnel: true
    case .forwarded, .connect, .socks: false
    }
  }
}

extension Route {
  /// The same without HTTP/2, for which alone the client opens a tunnel.
  func overHTTP1(to origin: ResourceURL.Origin) -> Route {
    if case .tunnel(let proxy) = self { .connect(proxy, origin) } else { self }
  }

  /// Whether the client connects to the proxy as if it were the origin, and Haul does the rest.
  var hidesOrigin: Bool {
    switch self {
    case .direct, .tunnel: false
    case .forwarded, .connect, .socks: true
    }
  }
}
