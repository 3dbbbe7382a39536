import AsyncHTTPClient
import HaulCore
import NIOCore

/// A proxy that refuses to open a tunnel, and says what it wants.
struct TunnelRefused: Error {
  let challenges: [AuthChallenge]
  /// What was sent.
  let used: DigestNonces.Use?
}

extension HTTPTransport {
  /// Another tunnel after the proxy has refused one; nil if it would be refused too.
  /// - Parameter refusals: how many preceded this one.
  func tunnel(
    instead route: Route, to origin: ResourceURL.Origin, after error: any Error, refusals: Int
  ) -> Route? {
    guard refusals < Self.maximumRepeats else { return nil }
    switch route {
    case .tunnel(let proxy):
      // The client does not say why the proxy refuses, and sends no field that a proxy may want.
      let known: [HTTPClientError] = [
        .proxyAuthenticationRequired, .invalidProxyResponse, .httpProxyHandshakeTimeout,
      ]
      guard let error = error as? HTTPClientError, known.contains(error) else { return nil }
      return .connect(proxy, origin)
    case .connect(let proxy, _):
      guard let refused = error as? TunnelRefused, let space = DigestNonces.Space(proxy),
        digests.learn(
          refused.challenges, in: space, used: refused.used,
          isRepeated: refusals > 0)
      else { return nil }
      return route
    case .direct, .forwarded, .socks: return nil
    }
  }

  /// The error of a request, with what its connection does not tell.
  func mapped(
    _ error: any Error, of request: FetchRequest, over route: Route
  ) async -> TransferError {
    let mapped = TransferError(mapping: error, from: request.url.origin, via: route)
    guard mapped.code == .tls, mapped.remedy == .certificateAuthority else { return mapped }
    return await inspectCertificate(of: request, over: route) ?? mapped
  }

  /// Why a certificate is not trusted: connects again without trust, and sends nothing.
  private func inspectCertificate(
    of request: FetchRequest, over route: Route
  ) async -> TransferError? {
    let mustBePublic = mustBePublic(request.url.origin, namedBy: request.redirectingOrigin)
    let key = ClientCache.Key(
      route: route, speaksHTTP2: false, tls: .inspected, host: request.url.origin.host,
      checksName: false, hasRawHead: false, isPublicOnly: mustBePublic)
    do {
      let client = try clients.client(for: key)
      defer { clients.release(key) }
      let message = HTTPClientRequest(url: address(of: request.url, over: route))
      _ = try await client.execute(message, deadline: .now() + TimeAmount(settings.connectTimeout))
      return nil
    } catch {
      return (error as? CertificateInspection)?.fault
    }
  }
}
