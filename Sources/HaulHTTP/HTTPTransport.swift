import AsyncHTTPClient
import FoundationEssentials
package import HaulCore
import HaulLibC
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
    /// Whether a redirect is followed that is allowed otherwise; nil for yes.
    package var followsRedirect: (@Sendable (ResourceURL, ResourceURL) -> Bool)?
    /// What all requests share; nil if each transfer has cookies of its own.
    package var session: RunSession?
    /// The most bytes of the cookies of all transfers that do not share them; then those that were
    /// set first are forgotten. Most servers set less than a KiB.
    package var cookieBytes = 64 << 20
    /// Public suffixes: the file of publicsuffix.org, where systems have it.
    package var publicSuffixFile = "/usr/share/publicsuffix/public_suffix_list.dat"
    /// Seconds since 1970: when cookies and certificates expire.
    package var wallSeconds: @Sendable () -> Double = { Date().timeIntervalSince1970 }

    package init() {}

    /// What a connection to a host looks up, or its address. The client has no resolver of ours, so
    /// a name of this machine becomes the one that systems know.
    func target(of host: String) -> String {
      if let address = addresses[host] { return address }
      if IPAddress.isLoopbackName(host) { return "localhost" }
      // The library knows a zone by its name only in a link-local address.
      guard let zone = host.firstByteIndex(of: "%") else { return host }
      let number = if_nametoindex(String(host[zone...].dropFirst()))
      return number == 0 ? host : "\(host[..<zone])%\(number)"
    }
  }

  let clients: ClientCache
  let cookies: SessionCookies
  let digests = DigestNonces()
  /// User names and passwords by host, for origins that a server has named.
  let logins: [String: ResourceURL.Credentials]
  let settings: Settings
  private let loops = EventLoopRoundRobin()
  /// Origins whose HTTP/2 is faulty, that asked for HTTP/1.1, or whose proxy refuses its tunnel.
  private let withoutHTTP2 = NIOLockedValueBox<Set<ResourceURL.Origin>>([])

  /// - Throws: `tls` when a certificate or key file cannot be read or holds none.
  package init(_ settings: Settings) throws(TransferError) {
    self.settings = settings
    clients = try ClientCache(settings, digests)
    cookies = SessionCookies(settings)
    logins = settings.session?.logins ?? [:]
  }

  /// How many clients are kept for hosts.
  package var clientCount: Int { clients.count }

  /// Sessions that have cookies of servers, and the bytes of these.
  package var heldCookies: (sessions: Int, bytes: Int) { cookies.held }

  /// Forgets the cookies of a transfer: its run has ended.
  package func endSession(_ id: TransferID) { cookies.end(id) }

  /// Closes every connection.
  package func shutdown() async { await clients.shutdown() }

  /// A new connection uses the event loop of the caller, if it runs on one.
  package func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    let executor = loops.executor(for: request)
    return try await withTaskExecutorPreference(executor) {
      try await fetch(request, on: executor)
    }
  }

  /// A request that `begin` has already sent, and its result.
  struct Begun: Sendable {
    let prepared: PreparedRequest
    let result: Result<Answer, any Error>
  }

  /// - Parameter begun: the first request, if it was already sent.
  func fetch(
    _ request: FetchRequest, on executor: LoopExecutor?, begun: Begun? = nil
  ) async throws -> FetchResponse {
    var (request, begun, own) = (request, begun, CookieJar())
    var redirects = RedirectPolicy(start: request.url, cookies.field(for: request, own: own))
    while true {
      let answer: Answer
      do {
        answer = try await exchange(request, &own, begun: begun)
      } catch let error as TransferError {
        throw redirects.count > 0 ? error.ofRedirect : error
      }
      begun = nil
      if let location = RedirectPolicy.location(status: answer.status, headers: answer.headers) {
        let hop = RedirectPolicy.Hop(
          status: answer.status, location: location,
          retryAfter: RetryAfter.delay(answer.headers, now: settings.wallSeconds()))
        let next = try redirects.next(after: request, hop) { cookies.field(for: $0, own: own) }
        let follows = settings.followsRedirect?(request.url, next.request.url) ?? true
        guard follows else {
          throw TransferError(
            .redirectRefused, "the redirect to \(next.request.url.redacted) is not to be followed",
            status: answer.status)
        }
        if next.wait > .zero { try await Task.sleep(for: next.wait) }
        request = next.request
        continue
      }
      let response = answer.response(
        to: request, wasRedirected: redirects.count > 0, executor: executor)
      return request.decodingLimit.map(response.decoded) ?? response
    }
  }

  /// More often, no challenge is answered for one request. Connections that share a server's nonces
  /// for one use need some.
  static let maximumRepeats = 10

  /// Sends a request, and again while it answers the challenges of the server or of a proxy.
  private func exchange(
    _ request: FetchRequest, _ own: inout CookieJar, begun: Begun?
  ) async throws -> Answer {
    var (begun, number) = (begun, 0)
    while true {
      let prepared = try begun?.prepared ?? prepare(request, cookies: own)
      let answer = try await send(prepared, first: begun?.result)
      begun = nil
      await cookies.store(answer.headers, of: request, own: &own)
      guard number < Self.maximumRepeats,
        learns(from: answer.status, answer.headers, to: prepared, isRepeated: number > 0)
      else {
        try Self.check(answer.status, answer.headers, of: prepared)
        return answer
      }
      number += 1
    }
  }

  private func send(
    _ prepared: PreparedRequest, first: Result<Answer, any Error>?
  ) async throws -> Answer {
    let request = prepared.request
    let origin = request.url.origin
    var route = prepared.route
    var usesHTTP2 = mayUseHTTP2(request, over: route)
    var chances = UnprocessedRetry.Count()
    var (first, refusals) = (first, 0)
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
        if let next = tunnel(instead: route, to: origin, after: error, refusals: refusals) {
          if usesHTTP2 { avoidHTTP2(to: origin) }
          (route, usesHTTP2, refusals) = (next, false, refusals + 1)
          continue
        }
        let chance = UnprocessedRetry(after: error, overHTTP2: usesHTTP2)
        switch chances.take(chance, overHTTP2: usesHTTP2) {
        case .again: continue
        case .overHTTP1: (route, usesHTTP2) = (route.overHTTP1(to: origin), false)
        case .neverHTTP2:
          (route, usesHTTP2) = (route.overHTTP1(to: origin), false)
          avoidHTTP2(to: origin)
        case .none: throw await mapped(error, of: request, over: route)
        }
      }
    }
  }

  /// - Throws: `proxy`, for a variable of the environment that cannot be read.
  func route(for request: FetchRequest) throws(TransferError) -> Route {
    let rules = request.isDirect ? ProxyRules() : settings.proxies
    let route = try Route(to: request.url.origin, by: rules)
    // The client's tunnel knows no Digest, and compares the certificate of an IP address with the
    // address of the proxy.
    guard case .connect(let proxy, let origin) = route, IPAddress(host: origin.host) == nil,
      mayUseHTTP2(request, over: .tunnel(proxy)),
      DigestNonces.Space(proxy).map(digests.hasNonce) != true
    else { return route }
    return .tunnel(proxy)
  }

  private func avoidHTTP2(to origin: ResourceURL.Origin) {
    withoutHTTP2.withLockedValue { _ = $0.insert(origin) }
  }

  private func mayUseHTTP2(_ request: FetchRequest, over route: Route) -> Bool {
    let origin = request.url.origin
    return request.prefersHTTP2 && request.hasTextualHead && origin.scheme == "https"
      && route.mayUseHTTP2
      && !withoutHTTP2.withLockedValue { $0.contains(origin) }
  }

  func key(
    for request: FetchRequest, over route: Route, usesHTTP2: Bool = false, mustBePublic: Bool
  ) -> ClientCache.Key {
    let origin = request.url.origin
    let isSecure = origin.scheme == "https"
    let tls = TLSSettings.Choice(
      isChecked: !request.allowInsecure, isAnonymous: request.hasLeftOrigin || request.isOfClient)
    // The TLS handshake checks an IP address. A proxy that forwards requests serves every host.
    return ClientCache.Key(
      route: route, speaksHTTP2: usesHTTP2, tls: isSecure ? tls : .checked,
      host: route == .direct || isSecure ? origin.host : nil,
      checksName: isSecure && !request.allowInsecure && IPAddress(host: origin.host) == nil,
      hasRawHead: !request.hasTextualHead, isPublicOnly: mustBePublic)
  }

  private func send(
    _ request: FetchRequest, over route: Route, usesHTTP2: Bool
  ) async throws -> Answer {
    let sent = CallbackRequest(from: request.url.origin, patience: request.patience)
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
    let mustBePublic = mustBePublic(request.url.origin, namedBy: request.redirectingOrigin)
    if mustBePublic { try PrivateHostRegistry.check(request.url.origin) }
    if route == .direct, request.url.origin.scheme == "http", request.hasTextualFields {
      sent.setCompletionHandler(completionHandler)
      clients.direct.send(
        head(of: request), to: request.url.origin, mustBePublic: mustBePublic, for: sent, on: loop)
      return
    }
    let fields = try headers(of: request, over: route)
    let message: HTTPClient.Request
    do {
      message = try HTTPClient.Request(
        url: address(of: request.url, over: route), headers: fields)
    } catch {
      throw TransferError(mapping: error, from: request.url.origin, via: route)
    }
    sent.setCompletionHandler(completionHandler)
    let key = key(
      for: request, over: route, usesHTTP2: usesHTTP2, mustBePublic: mustBePublic)
    let client = try clients.client(for: key)
    sent.send(
      message, with: client, on: loop,
      headTimeout: TimeAmount(settings.headTimeout) * request.patience,
      whenViolated: { [withoutHTTP2, origin = request.url.origin] in
        withoutHTTP2.withLockedValue { _ = $0.insert(origin) }
      }
    ) { [clients] in clients.release(key) }
  }

  /// Whether an address must be public because of the server that chose it; nil for the user.
  func mustBePublic(
    _ origin: ResourceURL.Origin, namedBy namer: ResourceURL.Origin?
  ) -> Bool {
    guard settings.refusesPrivateRedirects, let namer else { return false }
    return clients.privateAddresses.mustBePublic(origin, namedBy: namer)
  }

  static func check(
    _ status: Int, _ fields: HeaderFields, of prepared: PreparedRequest
  ) throws(TransferError) {
    if case .forwarded(let proxy) = prepared.route, status == 407 {
      throw TransferError(
        wantsPassword: proxy, AuthChallenge.all(in: fields, named: "Proxy-Authenticate"),
        withBody: prepared.hasBody)
    }
  }

  /// Sends a request without a task; `fetch` continues after a redirect or an error.
  package func begin(
    _ request: FetchRequest,
    _ answer: @escaping @Sendable (Result<FetchResponse, any Error>) -> Void
  ) -> (any FetchHandle)? {
    guard request.decodingLimit == nil,
      let prepared = try? prepare(request, cookies: CookieJar())
    else { return nil }
    let executor = loops.executor(for: request)
    let sent = CallbackRequest(from: request.url.origin, patience: request.patience)
    let route = prepared.route
    let usesHTTP2 = mayUseHTTP2(prepared.request, over: route)
    do {
      try start(sent, prepared.request, over: route, usesHTTP2: usesHTTP2) { [self] result in
        if case .success(let first) = result, first.isFinal {
          return answer(
            .success(first.response(to: request, wasRedirected: false, executor: executor)))
        }
        // Releases the body of a redirect or a refusal, and thus its connection.
        let begun = Begun(
          prepared: prepared, result: result.map { $0.hasFile ? $0 : $0.withoutBody })
        sent.continueOn(on: executor) {
          do {
            answer(.success(try await self.fetch(request, on: executor, begun: begun)))
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
}

extension TimeAmount {
  /// At most 100 years: more would not fit into the nanoseconds of SwiftNIO.
  init(_ duration: Duration) {
    let longest = Duration.seconds(100 * 365 * 86_400)
    let (seconds, attoseconds) = min(max(.zero, duration), longest).components
    self = .nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
  }
}
