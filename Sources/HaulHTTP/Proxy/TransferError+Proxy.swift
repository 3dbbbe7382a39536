import AsyncHTTPClient
import HaulCore
import NIOCore
import NIOPosix

extension TransferError {
  /// An error of a proxy or of the connection to it; nil for any other error. It never includes the
  /// credentials.
  init?(of proxy: ProxyRules.Proxy, mapping error: any Error) {
    switch error {
    case let error as TunnelRefused: self.init(wantsPassword: proxy, error.challenges)
    case let error as HTTPClientError: self.init(of: proxy, client: error)
    case ChannelError.connectTimeout:
      self.init(proxy, "did not answer in time", advice: "is it running?", isRetryable: true)
    case let error as NIOConnectionError:
      guard !error.connectionErrors.isEmpty else {
        self = TransferError(proxy, "is unknown", advice: "check its name", isRetryable: true)
          .with(.noRoute)
        return
      }
      self.init(proxy, "cannot be reached", advice: "is it running?", isRetryable: true)
    case let error as IOError where [EHOSTUNREACH, ENETUNREACH].contains(error.errnoCode):
      self = TransferError(proxy, "cannot be reached", advice: "is it running?", isRetryable: true)
        .with(.noRoute)
    case let error as IOError where error.errnoCode == ECONNREFUSED:
      self.init(proxy, "cannot be reached", advice: "is it running?", isRetryable: true)
    default: return nil
    }
  }

  private init?(of proxy: ProxyRules.Proxy, client error: HTTPClientError) {
    switch error {
    case .proxyAuthenticationRequired: self.init(wantsPassword: proxy)
    case .invalidProxyResponse:
      self.init(
        proxy, "does not connect to that server", advice: "is that allowed?", isRetryable: true)
    case .httpProxyHandshakeTimeout, .connectTimeout:
      self.init(proxy, "did not answer in time", advice: "is it running?", isRetryable: true)
    default: return nil
    }
  }

  /// 407 is not 401: the request never reached the server (RFC 9110, section 15.5.8).
  init(
    wantsPassword proxy: ProxyRules.Proxy, _ challenges: [AuthChallenge] = [],
    withBody: Bool = false
  ) {
    let scheme = UnauthorizedAdvice.unsupportedScheme(
      of: challenges, besides: ["basic"], withBody: withBody)
    if let scheme {
      self.init(proxy, "wants \(scheme), which is not supported", status: 407)
      return
    }
    self = TransferError(
      proxy,
      proxy.credentials == nil
        ? "requires a user name and a password" : "refused the user name and password",
      status: 407
    ).remedied(by: .proxyCredentials)
  }

  /// Before a tunnel was open.
  init(closedEarly proxy: ProxyRules.Proxy) {
    self.init(
      proxy, "closed the connection before it opened a tunnel", advice: "is its address right?",
      isRetryable: true)
  }

  /// After it was opened.
  init(closedTunnel proxy: ProxyRules.Proxy) {
    self.init(proxy, "closed the tunnel", advice: "can it reach that server?", isRetryable: true)
  }

  private init(
    _ proxy: ProxyRules.Proxy, _ what: String, advice: String? = nil, status: Int? = nil,
    isRetryable: Bool = false
  ) {
    self.init(
      .proxy, "the proxy \(proxy) \(what)", advice: advice, status: status,
      isRetryable: isRetryable)
  }
}
