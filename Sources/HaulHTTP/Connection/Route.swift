import HaulCore

/// How the bytes of a request reach its origin.
enum Route: Hashable, Sendable {
  case direct
  /// Through an HTTP proxy, with the whole address in the request (RFC 9112, section 3.2.2).
  case forwarded(ProxyRules.Proxy)
  /// Through a tunnel of an HTTP proxy (RFC 9110, section 9.3.6).
  case tunnel(ProxyRules.Proxy)
  /// Through a tunnel of a SOCKS5 proxy to this origin.
  case socks(ProxyRules.Proxy, ResourceURL.Origin)

  init(to origin: ResourceURL.Origin, by rules: ProxyRules) {
    guard let proxy = rules.proxy(for: origin) else {
      self = .direct
      return
    }
    switch proxy.kind {
    case .socks5: self = .socks(proxy, origin)
    case .http: self = origin.scheme == "https" ? .tunnel(proxy) : .forwarded(proxy)
    }
  }

  var proxy: ProxyRules.Proxy? {
    switch self {
    case .direct: nil
    case .forwarded(let proxy), .tunnel(let proxy), .socks(let proxy, _): proxy
    }
  }

  /// Whether the client may choose the protocol; not in a SOCKS5 tunnel, where Haul does TLS
  /// itself.
  var mayUseHTTP2: Bool {
    switch self {
    case .direct, .tunnel: true
    case .forwarded, .socks: false
    }
  }
}

extension Route {
  /// Whether the client connects to the proxy as if it were the origin, and Haul does the rest.
  var hidesOrigin: Bool {
    switch self {
    case .direct, .tunnel: false
    case .forwarded, .socks: true
    }
  }
}
