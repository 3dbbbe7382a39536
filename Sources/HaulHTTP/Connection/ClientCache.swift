import AsyncHTTPClient
import HaulCore
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

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
    let hasRawTarget: Bool
    /// Whether connections to private addresses are refused.
    let isPublicOnly: Bool
  }

  private struct State {
    var made: [Key: HTTPClient] = [:]
    var isShutDown = false
  }

  private let settings: HTTPTransport.Settings
  let tls: TLSSettings
  /// For HTTP/1.1 without TLS and without a proxy.
  let direct: PlainHTTPClient
  let privateAddresses = PrivateHostRegistry()
  private let state = NIOLockedValueBox(State())

  init(_ settings: HTTPTransport.Settings) throws(TransferError) {
    self.settings = settings
    direct = PlainHTTPClient(settings, privateAddresses)
    tls = try TLSSettings(settings)
  }

  /// - Throws: `interrupted` after `shutdown`, because a client created then would never be shut
  ///   down.
  func client(for key: Key) throws(TransferError) -> HTTPClient {
    let client: HTTPClient? = state.withLockedValue { state in
      if state.isShutDown { return nil }
      if let client = state.made[key] { return client }
      let client = make(key)
      state.made[key] = client
      return client
    }
    guard let client else { throw Self.shutDownError }
    return client
  }

  static let shutDownError = TransferError(.interrupted, "the manager was shut down")

  /// Closes every connection.
  func shutdown() async {
    let clients = state.withLockedValue { state in
      defer { state = State(isShutDown: true) }
      return Array(state.made.values)
    }
    // Fails only if the client was shut down before.
    for client in clients { try? await client.shutdown() }
    await direct.shutdown()
  }

  private func make(_ key: Key) -> HTTPClient {
    var configuration = HTTPClient.Configuration(
      tlsConfiguration: tls[key.tls], redirectConfiguration: .disallow,
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
    if case .tunnel(let proxy) = key.route {
      configuration.proxy = .server(
        host: proxy.host, port: proxy.port,
        authorization: proxy.credentials.map {
          .basic(username: $0.user, password: $0.password)
        })
    }
    let preparation = ConnectionPreparation(
      route: key.route, tls: tls[key.tls], host: key.host, checksName: key.checksName,
      hasRawTarget: key.hasRawTarget,
      isPublicOnly: key.isPublicOnly, privateAddresses: privateAddresses,
      timeout: TimeAmount(settings.connectTimeout))
    configuration.http1_1ConnectionDebugInitializer = { preparation.prepareHTTP1($0) }
    configuration.http2ConnectionDebugInitializer = { preparation.prepareHTTP2($0) }
    configuration.http2StreamChannelDebugInitializer = ConnectionPreparation.prepareStream
    return HTTPClient(
      eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton),
      configuration: configuration)
  }
}
