import AsyncHTTPClient
package import HaulCore
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1

/// `Transport` over AsyncHTTPClient: a redirect loop of our own, every error mapped once.
///
/// The scheduler limits connections; the client's own pool never does.
package final class HTTPTransport: Transport {
  /// What holds for every connection.
  package struct Settings: Sendable {
    package var connectTimeout: Duration = .seconds(10)
    /// From sending a request to its answer's head.
    package var headTimeout: Duration = .seconds(30)
    /// A PEM file to trust instead of the system's authorities.
    package var certificateAuthorities: String?
    package var clientCertificate: ClientCertificate?
    package var minimumTLS = TLSVersion.tls12
    package var proxies = ProxyRules()
    package var addressFamily: AddressFamily?
    /// Where connections come from.
    package var localAddress: String?
    /// Addresses by names in lower case, in place of looking them up.
    package var addresses: [String: String] = [:]
    package var userAgent = "haul"

    package init() {}
  }

  private let clients: Clients
  private let settings: Settings
  private let loops = LoopRotation()
  /// Origins that were seen to get HTTP/2 wrong, or to want none.
  private let withoutHTTP2 = NIOLockedValueBox<Set<ResourceURL.Origin>>([])

  /// - Throws: `tls` when a file of certificates or keys cannot be read or holds none.
  package init(_ settings: Settings) throws(TransferError) {
    self.settings = settings
    clients = try Clients(settings)
  }

  /// Closes every connection.
  package func shutdown() async { await clients.shutdown() }

  /// A connection that is made for the request lives on the loop that the request was sent from: the caller's, if it is
  /// on one.
  package func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    let executor = loops.executor(for: request)
    return try await withTaskExecutorPreference(executor) {
      try await fetch(request, on: executor)
    }
  }

  private func fetch(
    _ request: FetchRequest, on executor: LoopExecutor?
  ) async throws -> FetchResponse {
    var request = request
    var redirects = RedirectPolicy(start: request.url)
    while true {
      let response = try await send(request)
      let headers = HeaderFields(response.headers.map { ($0.name, $0.value) })
      if let location = redirects.location(status: Int(response.status.code), headers: headers) {
        request = try redirects.next(after: request, location: location)
        continue
      }
      let head = ResponseHead(
        status: Int(response.status.code), headers: headers, url: request.url,
        wasRedirected: redirects.count > 0, version: response.version.name)
      return FetchResponse(
        head: head, body: ResponseBodySequence(response.body, from: request.url.origin),
        executor: executor)
    }
  }

  private func send(_ request: FetchRequest) async throws -> HTTPClientResponse {
    // The client would ask for `/` instead.
    guard request.url.hasTextualPath else {
      throw TransferError(
        .notYetSupported, "the address's path is not UTF-8 when percent-decoded, not yet supported")
    }
    let origin = request.url.origin
    let route = Route(to: origin, by: settings.proxies)
    try checkTrust(of: request, over: route)
    var usesHTTP2 =
      request.prefersHTTP2 && origin.scheme == "https" && route.mayUseHTTP2
      && !withoutHTTP2.withLockedValue { $0.contains(origin) }
    var chances = SecondChance.Count()
    while true {
      do {
        return try await send(request, over: route, usesHTTP2: usesHTTP2)
      } catch let error as CancellationError {
        throw error
      } catch {
        try Task.checkCancellation()
        switch chances.take(SecondChance(after: error, overHTTP2: usesHTTP2)) {
        case .again: continue
        case .overHTTP1: usesHTTP2 = false
        case .neverHTTP2:
          usesHTTP2 = false
          withoutHTTP2.withLockedValue { _ = $0.insert(origin) }
        case .none: throw TransferError(mapping: error, from: origin, via: route)
        }
      }
    }
  }

  private func send(
    _ request: FetchRequest, over route: Route, usesHTTP2: Bool
  ) async throws -> HTTPClientResponse {
    let client = clients[
      Clients.Key(
        route: route, speaksHTTP2: usesHTTP2,
        isUnchecked: route.endsTLSItself && request.allowInsecure,
        certifiedHost: certifiedHost(of: request))]
    var message = HTTPClientRequest(url: address(of: request.url, over: route))
    message.headers = headers(of: request)
    if route.hidesOrigin {
      message.headers.replaceOrAdd(name: "Host", value: request.url.origin.authority)
    }
    if request.allowInsecure { message.tlsConfiguration = clients.tls.unchecked }
    let response = try await client.execute(message, timeout: TimeAmount(settings.headTimeout))
    if case .forwarded(let proxy) = route, response.status == .proxyAuthenticationRequired {
      throw TransferError(wantsPassword: proxy)
    }
    return response
  }

  /// A bare address is compared in the handshake.
  private func certifiedHost(of request: FetchRequest) -> String? {
    let origin = request.url.origin
    guard origin.scheme == "https", !request.allowInsecure, IPAddress(origin.host) == nil else {
      return nil
    }
    return origin.host
  }

  /// The address that the client is to connect to.
  private func address(of url: ResourceURL, over route: Route) -> String {
    guard route.hidesOrigin, let proxy = route.proxy else { return url.absoluteString }
    return "http://\(proxy)\(url.pathAndQuery)"
  }

  /// A certificate is compared with the address of the other end, which behind a proxy is the proxy's: the owner of
  /// a certificate for that could read along.
  private func checkTrust(of request: FetchRequest, over route: Route) throws(TransferError) {
    guard route.proxy != nil, request.url.origin.scheme == "https", !request.allowInsecure,
      IPAddress(request.url.origin.host) != nil
    else { return }
    throw TransferError(
      .tls, "through a proxy the certificate of a bare address cannot be checked; use its name")
  }

  private func headers(of request: FetchRequest) -> HTTPHeaders {
    var headers = HTTPHeaders(request.headers.fields.map { ($0.name, $0.value) })
    func fill(_ name: String, _ value: String) {
      if !headers.contains(name: name) { headers.add(name: name, value: value) }
    }
    fill("User-Agent", settings.userAgent)
    fill("Accept", "*/*")
    headers.replaceOrAdd(name: "Accept-Encoding", value: "identity")
    if let credentials = request.url.credentials {
      fill("Authorization", credentials.basic)
    }
    if let first = request.firstByte {
      let last = request.lastByte.map(String.init) ?? ""
      headers.replaceOrAdd(name: "Range", value: "bytes=\(first)-\(last)")
      if let validator = request.ifRange {
        headers.replaceOrAdd(name: "If-Range", value: validator)
      }
    }
    return headers
  }
}

extension HTTPVersion {
  /// As people write it: version 2 has no minor number.
  fileprivate var name: String { major == 2 ? "HTTP/2" : "HTTP/\(major).\(minor)" }
}

extension TimeAmount {
  init(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    self = .nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
  }
}
