import AsyncHTTPClient
import HaulCore
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL

/// The clients of a transport, one for each route, protocol and certified host, created on demand.
/// Routes and TLS settings never share a connection.
final class ClientCache: Sendable {
  struct Key: Hashable, Sendable {
    let route: Route
    let speaksHTTP2: Bool
    let tls: TLSSettings.Choice
    /// The host of its connections; nil where those to a proxy are shared.
    let host: String?
    /// Whether certificates are checked for the name of the host.
    let checksName: Bool
    let hasRawHead: Bool
    /// Whether connections to private addresses are refused.
    let isPublicOnly: Bool
    /// Whether each connection has one request: none was idle, so that the server may have closed
    /// it, or may have said on it that it will.
    var isNew = false
  }

  private struct State {
    var made: [Key: Entry] = [:]
    var uses = 0
    var isShutDown = false

    /// Removes the client that nobody has used for longest, if there are many.
    mutating func removeOldest() -> HTTPClient? {
      guard made.count > ClientCache.most else { return nil }
      let oldest = made.filter { $0.value.users == 0 }.min { $0.value.lastUse < $1.value.lastUse }
      return oldest.flatMap { made.removeValue(forKey: $0.key)?.client }
    }
  }

  private struct Entry {
    let client: HTTPClient
    /// Requests whose answers are not complete.
    var users = 0
    var lastUse = 0
  }

  /// A server can lead through any number of hosts. More clients than this are kept only while all
  /// are used.
  private static let most = 64

  private let settings: HTTPTransport.Settings
  let tls: TLSSettings
  /// For HTTP/1.1 without TLS and without a proxy.
  let direct: PlainHTTPClient
  let privateAddresses = PrivateHostRegistry()
  private let state = NIOLockedValueBox(State())

  private let digests: DigestNonces

  init(
    _ settings: HTTPTransport.Settings, _ digests: DigestNonces
  ) throws(TransferError) {
    (self.settings, self.digests) = (settings, digests)
    direct = PlainHTTPClient(settings, privateAddresses)
    tls = try TLSSettings(settings)
  }

  /// The client for one request; `release` must follow when the answer is complete.
  /// - Throws: `interrupted` after `shutdown`, because a client created then would never be shut
  ///   down.
  func client(for key: Key) throws(TransferError) -> HTTPClient {
    let (client, unused): (HTTPClient?, HTTPClient?) = state.withLockedValue { state in
      if state.isShutDown { return (nil, nil) }
      state.uses += 1
      var entry = state.made[key] ?? Entry(client: make(key))
      (entry.users, entry.lastUse) = (entry.users + 1, state.uses)
      state.made[key] = entry
      return (entry.client, state.removeOldest())
    }
    // Fails only if the client was shut down before.
    if let unused { Task { try? await unused.shutdown() } }
    guard let client else { throw Self.shutDownError }
    return client
  }

  /// Says that a request with the client of this key is over.
  func release(_ key: Key) {
    state.withLockedValue { $0.made[key]?.users -= 1 }
  }

  var count: Int { state.withLockedValue { $0.made.count } }

  static let shutDownError = TransferError(.interrupted, "the manager was shut down")

  /// Closes every connection.
  func shutdown() async {
    let clients = state.withLockedValue { state in
      defer { state = State(isShutDown: true) }
      return state.made.values.map(\.client)
    }
    // Fails only if the client was shut down before.
    for client in clients { try? await client.shutdown() }
    await direct.shutdown()
  }

  private func make(_ key: Key) -> HTTPClient {
    var tls = tls[key.tls]
    // With this, `ConnectionPreparation` compares the name.
    if key.checksName, key.host.map(HostnameVerification.isOnlyHere) == true {
      tls.certificateVerification = .noHostnameVerification
    }
    var configuration = HTTPClient.Configuration(
      tlsConfiguration: tls, redirectConfiguration: .disallow,
      timeout: .init(connect: TimeAmount(settings.connectTimeout)), decompression: .disabled)
    // Tracing is off: nothing collects spans, and describing each request costs time.
    configuration.tracing.tracer = nil
    configuration.httpVersion = key.speaksHTTP2 ? .automatic : .http1Only
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 4096
    configuration.connectionPool.idleTimeout = TimeAmount(settings.keepAlive)
    // Otherwise the client would silently retry a refused port until the connect timeout.
    configuration.connectionPool.retryConnectionEstablishment = false
    // Binding to the unspecified address of one family makes addresses of the other fail at once.
    configuration.localAddress = settings.localAddress ?? settings.addressFamily?.anyAddress
    configuration.dnsOverride = settings.addresses
    // A handshake has no last dot of a name, but its lookup has.
    if let host = key.host {
      let (name, target) = (HostnameVerification.serverName(of: host), settings.target(of: host))
      if target != name { configuration.dnsOverride[name] = target }
    }
    if case .tunnel(let proxy) = key.route {
      configuration.proxy = .server(
        host: proxy.host, port: proxy.port,
        authorization: proxy.credentials.map {
          .basic(username: $0.user, password: $0.password)
        })
    }
    let preparation = ConnectionPreparation(
      route: key.route, tls: tls, host: key.host, checksName: key.checksName,
      hasRawHead: key.hasRawHead,
      isPublicOnly: key.isPublicOnly, privateAddresses: privateAddresses,
      timeout: TimeAmount(settings.connectTimeout), digests: digests,
      addresses: settings.addresses, userAgent: settings.userAgent,
      inspectionTime: key.tls == .inspected ? settings.wallSeconds : nil)
    configuration.http1_1ConnectionDebugInitializer = { preparation.prepareHTTP1($0) }
    configuration.http2ConnectionDebugInitializer = { preparation.prepareHTTP2($0) }
    configuration.http2StreamChannelDebugInitializer = ConnectionPreparation.prepareStream
    return HTTPClient(
      eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton),
      configuration: configuration)
  }
}
