import AsyncHTTPClient
package import HaulCore
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix

/// `Transport` with AsyncHTTPClient, and with `PlainHTTPClient` for plain HTTP.
///
/// `fetch` follows redirects, and maps each error once. The scheduler limits connections; the
/// clients do not.
package final class HTTPTransport: Transport {
  /// Settings for all connections.
  package struct Settings: Sendable {
    package var connectTimeout: Duration = .seconds(10)
    /// The time from sending a request to the header of its answer.
    package var headTimeout: Duration = .seconds(30)
    /// How long an idle connection is kept.
    package var keepAlive: Duration = .seconds(60)
    /// A PEM file of authorities to trust instead of the system's.
    package var certificateAuthorities: String?
    package var clientCertificate: ClientCertificate?
    package var minimumTLS = TLSVersion.tls12
    package var proxies = ProxyRules()
    package var addressFamily: AddressFamily?
    /// The local address of connections.
    package var localAddress: String?
    /// Addresses by lower-case name, used instead of a lookup.
    package var addresses: [String: String] = [:]
    package var userAgent = "haul"
    /// Whether a public host may not redirect to a private address.
    package var refusesPrivateRedirects = false

    package init() {}
  }

  let clients: ClientCache
  private let settings: Settings
  private let loops = EventLoopRoundRobin()
  /// Origins whose HTTP/2 is faulty, or that asked for HTTP/1.1.
  private let withoutHTTP2 = NIOLockedValueBox<Set<ResourceURL.Origin>>([])

  /// - Throws: `tls` when a certificate or key file cannot be read or holds none.
  package init(_ settings: Settings) throws(TransferError) {
    self.settings = settings
    clients = try ClientCache(settings)
  }

  /// Closes every connection.
  package func shutdown() async { await clients.shutdown() }

  /// A new connection uses the event loop of the caller, if it runs on one.
  package func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    let executor = loops.executor(for: request)
    return try await withTaskExecutorPreference(executor) {
      try await fetch(request, on: executor)
    }
  }

  /// - Parameter first: the result of the request, if `begin` has already sent it.
  func fetch(
    _ request: FetchRequest, on executor: LoopExecutor?, first: Result<Answer, any Error>? = nil
  ) async throws -> FetchResponse {
    var (request, first) = (request, first)
    var redirects = RedirectPolicy(start: request.url)
    while true {
      let answer: Answer
      do {
        answer = try await send(request, first: first)
      } catch let error as TransferError {
        throw redirects.count > 0 ? error.ofRedirect : error
      }
      first = nil
      if let location = RedirectPolicy.location(status: answer.status, headers: answer.headers) {
        request = try redirects.next(after: request, location: location)
        continue
      }
      let response = answer.response(
        to: request, wasRedirected: redirects.count > 0, executor: executor)
      return request.decodingLimit.map(response.decoded) ?? response
    }
  }

  private func send(
    _ request: FetchRequest, first: Result<Answer, any Error>?
  ) async throws -> Answer {
    let origin = request.url.origin
    let route = route(to: origin)
    try checkTrust(of: request, over: route)
    var usesHTTP2 = mayUseHTTP2(request, over: route)
    var chances = UnprocessedRetry.Count()
    var first = first
    while true {
      do {
        if let known = first {
          first = nil
          return try known.get()
        }
        return try await send(request, over: route, usesHTTP2: usesHTTP2)
      } catch let error as CancellationError {
        throw error
      } catch {
        try Task.checkCancellation()
        switch chances.take(UnprocessedRetry(after: error, overHTTP2: usesHTTP2)) {
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

  func route(to origin: ResourceURL.Origin) -> Route { Route(to: origin, by: settings.proxies) }

  private func mayUseHTTP2(_ request: FetchRequest, over route: Route) -> Bool {
    let origin = request.url.origin
    return request.prefersHTTP2 && request.url.hasTextualPath && origin.scheme == "https"
      && route.mayUseHTTP2
      && !withoutHTTP2.withLockedValue { $0.contains(origin) }
  }

  private func client(
    for request: FetchRequest, over route: Route, usesHTTP2: Bool
  ) throws(TransferError) -> HTTPClient {
    try clients.client(
      for: key(
        for: request, over: route, usesHTTP2: usesHTTP2,
        mustBePublic: mustBePublic(request.redirectingOrigin)))
  }

  func key(
    for request: FetchRequest, over route: Route, usesHTTP2: Bool = false, mustBePublic: Bool
  ) -> ClientCache.Key {
    let origin = request.url.origin
    let isSecure = origin.scheme == "https"
    let tls: TLSSettings.Choice =
      request.allowInsecure ? .unchecked : request.hasLeftOrigin ? .anonymous : .checked
    // The TLS handshake checks an IP address. A proxy that forwards requests serves every host.
    return ClientCache.Key(
      route: route, speaksHTTP2: usesHTTP2, tls: isSecure ? tls : .checked,
      host: route == .direct || isSecure ? origin.host : nil,
      checksName: isSecure && tls != .unchecked && IPAddress(origin.host) == nil,
      hasRawTarget: !request.url.hasTextualPath, isPublicOnly: mustBePublic)
  }

  private func send(
    _ request: FetchRequest, over route: Route, usesHTTP2: Bool
  ) async throws -> Answer {
    let sent = CallbackRequest(from: request.url.origin)
    return try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { answered in
        do throws(TransferError) {
          try start(sent, request, over: route, usesHTTP2: usesHTTP2) { answered.resume(with: $0) }
        } catch {
          answered.resume(throwing: error)
        }
      }
    } onCancel: {
      sent.cancel()
    }
  }

  /// Sends the request with the client of its route, on the current event loop if there is one.
  /// - Throws: when it cannot be sent; then `completionHandler` is not called.
  private func start(
    _ sent: CallbackRequest, _ request: FetchRequest, over route: Route, usesHTTP2: Bool,
    _ completionHandler: @escaping CallbackRequest.Completion
  ) throws(TransferError) {
    let loop = MultiThreadedEventLoopGroup.singleton.any()
    let mustBePublic = mustBePublic(request.redirectingOrigin)
    if mustBePublic { try PrivateHostRegistry.check(request.url.origin) }
    if route == .direct, request.url.origin.scheme == "http" {
      sent.setCompletionHandler(completionHandler)
      clients.direct.send(
        head(of: request), to: request.url.origin, mustBePublic: mustBePublic, for: sent, on: loop)
      return
    }
    let client = try client(for: request, over: route, usesHTTP2: usesHTTP2)
    let message: HTTPClient.Request
    do {
      message = try HTTPClient.Request(
        url: address(of: request.url, over: route), headers: headers(of: request, over: route))
    } catch {
      throw TransferError(mapping: error, from: request.url.origin, via: route)
    }
    sent.setCompletionHandler { result in
      completionHandler(
        result.flatMap { answer in
          Result { () throws(TransferError) in
            try Self.check(.init(statusCode: answer.status), over: route)
            return answer
          }.mapError { $0 }
        })
    }
    sent.send(
      message, with: client, on: loop, headTimeout: TimeAmount(settings.headTimeout))
  }

  /// Whether an address that this origin's server chose must be public.
  func mustBePublic(_ namedBy: ResourceURL.Origin?) -> Bool {
    settings.refusesPrivateRedirects && namedBy.map(clients.privateAddresses.isPublic) ?? false
  }

  static func check(
    _ status: HTTPResponseStatus, over route: Route
  ) throws(TransferError) {
    if case .forwarded(let proxy) = route, status == .proxyAuthenticationRequired {
      throw TransferError(wantsPassword: proxy)
    }
  }

  /// Sends a request without a task; `fetch` continues after a redirect or an error.
  package func begin(
    _ request: FetchRequest,
    _ answer: @escaping @Sendable (Result<FetchResponse, any Error>) -> Void
  ) -> (any FetchHandle)? {
    let route = route(to: request.url.origin)
    guard request.decodingLimit == nil, (try? checkTrust(of: request, over: route)) != nil
    else { return nil }
    let executor = loops.executor(for: request)
    let sent = CallbackRequest(from: request.url.origin)
    let usesHTTP2 = mayUseHTTP2(request, over: route)
    do {
      try start(sent, request, over: route, usesHTTP2: usesHTTP2) { [self] result in
        if case .success(let first) = result,
          RedirectPolicy.location(status: first.status, headers: first.headers) == nil
        {
          return answer(
            .success(first.response(to: request, wasRedirected: false, executor: executor)))
        }
        // Releases the body of a redirect, and thus its connection.
        let first = result.map(\.withoutBody)
        sent.continueOn(on: executor) {
          do {
            answer(.success(try await self.fetch(request, on: executor, first: first)))
          } catch {
            answer(.failure(error))
          }
        }
      }
    } catch {
      return nil
    }
    return sent
  }

  /// The address that the client connects to.
  func address(of url: ResourceURL, over route: Route) -> String {
    let target = url.hasTextualPath ? url.pathAndQuery : "/"
    if route.hidesOrigin, let proxy = route.proxy { return "http://\(proxy)\(target)" }
    return url.hasTextualPath
      ? url.absoluteString : "\(url.origin.scheme)://\(url.origin.authority)/"
  }

  /// Refuses an IP address through a proxy: the library would compare the certificate with the
  /// proxy's address, and a proxy with such a certificate could read the traffic.
  func checkTrust(of request: FetchRequest, over route: Route) throws(TransferError) {
    guard route.proxy != nil, request.url.origin.scheme == "https", !request.allowInsecure,
      IPAddress(request.url.origin.host) != nil
    else { return }
    throw TransferError(
      .tls, "the certificate of an IP address cannot be checked through a proxy; use a host name")
  }

  /// The request line and the fields that `PlainHTTPClient` sends to the origin.
  private func head(of request: FetchRequest) -> HTTPRequestHead {
    var headers = fields(of: request)
    if !request.headers.fields.isEmpty {
      // A request without a body has no framing fields.
      headers.remove(name: "Content-Length")
      headers.remove(name: "Transfer-Encoding")
    }
    if !headers.contains(name: "Host") {
      headers.add(name: "Host", value: request.url.origin.authority)
    }
    return HTTPRequestHead(
      version: .http1_1, method: .GET, uri: request.url.pathAndQuery, headers: headers)
  }

  func headers(of request: FetchRequest, over route: Route) -> HTTPHeaders {
    var headers = fields(of: request)
    if !request.url.hasTextualPath {
      headers.replaceOrAdd(name: RawTargetHandler.field, value: request.url.pathAndQuery)
    }
    if route.hidesOrigin {
      headers.replaceOrAdd(name: "Host", value: request.url.origin.authority)
    }
    return headers
  }

  private func fields(of request: FetchRequest) -> HTTPHeaders {
    HTTPHeaders(
      request.fieldsToSend(
        codings: request.decodingLimit == nil ? "identity" : ContentDecoder.accepted,
        defaults: [("User-Agent", settings.userAgent), ("Accept", "*/*")]))
  }
}

extension TimeAmount {
  /// At most 100 years: more would not fit into the nanoseconds of SwiftNIO.
  init(_ duration: Duration) {
    let longest = Duration.seconds(100 * 365 * 86_400)
    let (seconds, attoseconds) = min(max(.zero, duration), longest).components
    self = .nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
  }
}
