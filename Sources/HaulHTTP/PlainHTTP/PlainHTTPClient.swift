import HaulCore
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix

/// A client for HTTP/1.1 without TLS and without a proxy. For a small file it executes less than
/// half the instructions of AsyncHTTPClient (decision 016). The scheduler limits its connections.
final class PlainHTTPClient: Sendable {
  fileprivate struct IdleConnection {
    let channel: any Channel
    let connection: NIOLoopBound<PlainHTTPConnection>
    let since: NIODeadline
  }

  private struct State {
    /// Idle connections by origin, the most recently used last.
    var kept: [ResourceURL.Origin: [IdleConnection]] = [:]
    var open: [ObjectIdentifier: (channel: any Channel, origin: ResourceURL.Origin)] = [:]
    var sweeps = false
    var isShutDown = false
  }

  private let settings: HTTPTransport.Settings
  private let privateAddresses: PrivateHostRegistry
  private let state = NIOLockedValueBox(State())

  /// Created before the first connection: the runtime can crash when two event loops create the
  /// same generic class at the same time.
  private static let handlerTypes: [any Any.Type] = [
    HTTPResponseDecoder.self, ByteToMessageHandler<HTTPResponseDecoder>.self,
  ]

  init(_ settings: HTTPTransport.Settings, _ privateAddresses: PrivateHostRegistry) {
    (self.settings, self.privateAddresses) = (settings, privateAddresses)
    withExtendedLifetime(Self.handlerTypes) {}
  }

  var headTimeout: TimeAmount { TimeAmount(settings.headTimeout) }

  /// Sends a request over an idle connection, preferably of `loop`, or over a new one on `loop`.
  /// - Parameter body: as many bytes as the head says.
  func send(
    _ head: HTTPRequestHead, _ body: ByteBuffer? = nil, to origin: ResourceURL.Origin,
    mustBePublic: Bool, for request: any PlainHTTPExchange, on loop: any EventLoop
  ) {
    if let kept = takeIdleConnection(of: origin, mustBePublic, preferring: loop) {
      return send(head, body, for: request, over: kept.connection)
    }
    request.setStopHandler { [weak request] in request?.failed($0) }
    connect(to: origin, mustBePublic, on: loop).whenComplete { result in
      switch result {
      case .success(let connection): self.send(head, body, for: request, over: connection)
      case .failure(let error): request.failed(error)
      }
    }
  }

  private func send(
    _ head: HTTPRequestHead, _ body: ByteBuffer?, for request: any PlainHTTPExchange,
    over connection: NIOLoopBound<PlainHTTPConnection>
  ) {
    let loop = connection.eventLoop
    request.setStopHandler { [weak request] error in
      loop.execute { if let request { connection.value.stop(request, error) } }
    }
    guard !loop.inEventLoop else { return connection.value.send(head, body, for: request) }
    loop.execute { connection.value.send(head, body, for: request) }
  }

  /// Closes every connection.
  func shutdown() async {
    let open = state.withLockedValue { state in
      defer { state = State(isShutDown: true) }
      return state.open.values.map(\.channel)
    }
    for channel in open { channel.close(promise: nil) }
    // An error does not matter: the channel is closed.
    for channel in open { try? await channel.closeFuture.get() }
  }

  private func takeIdleConnection(
    of origin: ResourceURL.Origin, _ mustBePublic: Bool, preferring loop: any EventLoop
  ) -> IdleConnection? {
    state.withLockedValue { state in
      // The connections of an origin may have several addresses.
      if mustBePublic {
        guard let kept = state.kept[origin],
          kept.allSatisfy({ PrivateHostRegistry.isPublic($0.channel) })
        else { return nil }
      }
      return state.kept[origin]?.takeLast(preferring: loop)
    }
  }
}

extension [PlainHTTPClient.IdleConnection] {
  fileprivate mutating func takeLast(preferring loop: any EventLoop) -> Element? {
    guard let index = lastIndex(where: { $0.connection.eventLoop === loop }) else {
      return popLast()
    }
    return remove(at: index)
  }
}

/// Idle and closed connections; called on the event loops of the connections.
extension PlainHTTPClient {
  /// Keeps a connection for another request after its answer.
  func keep(
    _ connection: PlainHTTPConnection, _ channel: any Channel, to origin: ResourceURL.Origin
  ) {
    let kept = IdleConnection(
      channel: channel,
      connection: NIOLoopBound(connection, eventLoop: channel.eventLoop), since: .now())
    let mustSweep = state.withLockedValue { state in
      guard !state.isShutDown else { return false }
      state.kept[origin, default: []].append(kept)
      defer { state.sweeps = true }
      return !state.sweeps
    }
    if mustSweep { sweep(on: channel.eventLoop, after: kept.since) }
  }

  /// Removes a connection that has ended.
  func forget(_ channel: any Channel) {
    state.withLockedValue { state in
      guard let origin = state.open.removeValue(forKey: ObjectIdentifier(channel))?.origin else {
        return
      }
      state.kept[origin]?.removeAll { $0.channel === channel }
      if state.kept[origin]?.isEmpty == true { state.kept[origin] = nil }
    }
  }

  /// Closes idle connections once the keep-alive time has passed since `since`.
  private func sweep(on loop: any EventLoop, after since: NIODeadline) {
    loop.scheduleTask(deadline: since + TimeAmount(settings.keepAlive)) { [weak self] in
      self?.sweep(on: loop)
    }
  }

  private func sweep(on loop: any EventLoop) {
    let limit = NIODeadline.now() - TimeAmount(settings.keepAlive)
    let (old, oldest) = state.withLockedValue { state in
      let old = state.kept.values.joined().filter { $0.since <= limit }
      for origin in state.kept.keys { state.kept[origin]?.removeAll { $0.since <= limit } }
      state.kept = state.kept.filter { !$0.value.isEmpty }
      let oldest = state.kept.values.joined().map(\.since).min()
      state.sweeps = oldest != nil
      return (old, oldest)
    }
    for kept in old { kept.channel.close(promise: nil) }
    if let oldest { sweep(on: loop, after: oldest) }
  }

  private func connect(
    to origin: ResourceURL.Origin, _ mustBePublic: Bool, on loop: any EventLoop
  ) -> EventLoopFuture<NIOLoopBound<PlainHTTPConnection>> {
    var bootstrap = ClientBootstrap(group: loop)
      .connectTimeout(TimeAmount(min(settings.connectTimeout, settings.headTimeout)))
      .channelOption(.autoRead, value: false)
      // Larger reads mean fewer wake-ups: the default grows only from 2 to 64 KiB.
      .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 256 << 10))
      .channelInitializer { self.prepare($0, to: origin) }
    // A socket that is bound to 0.0.0.0 or :: cannot connect to an address of the other family.
    if let own = settings.localAddress ?? settings.addressFamily?.anyAddress {
      do {
        bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: own, port: 0))
      } catch {
        return loop.makeFailedFuture(error)
      }
    }
    let host = settings.target(of: origin.host)
    // Without a lookup, no error about an IP address looks like a failed lookup.
    let connected =
      if let address = try? SocketAddress(ipAddress: host, port: origin.port) {
        bootstrap.connect(to: address)
      } else if IPAddress.isLoopbackName(host) {
        bootstrap.resolver(LoopbackResolver(loop: loop)).connect(host: host, port: origin.port)
      } else {
        bootstrap.connect(host: host, port: origin.port)
      }
    return connected.flatMapThrowing { [privateAddresses] channel in
      do {
        try privateAddresses.check(channel, to: origin.host, mustBePublic: mustBePublic)
      } catch {
        channel.close(promise: nil)
        throw error
      }
      return NIOLoopBound(
        try channel.pipeline.syncOperations.handler(type: PlainHTTPConnection.self),
        eventLoop: channel.eventLoop)
    }
  }

  private func prepare(
    _ channel: any Channel, to origin: ResourceURL.Origin
  ) -> EventLoopFuture<Void> {
    channel.eventLoop.makeCompletedFuture {
      let isShutDown = state.withLockedValue { state in
        if !state.isShutDown { state.open[ObjectIdentifier(channel)] = (channel, origin) }
        return state.isShutDown
      }
      if isShutDown { throw ClientCache.shutDownError }
      let pipeline = channel.pipeline.syncOperations
      try pipeline.addHandlers([
        HTTPRequestEncoder(), AnswerStartHandler(),
        ByteToMessageHandler(
          HTTPResponseDecoder(
            leftOverBytesStrategy: .dropBytes, limitConfiguration: .ofAnswers)),
        NIOHTTPRequestHeadersValidator(), PlainHTTPConnection(of: self, to: origin),
      ])
    }
  }
}

/// The addresses of every name of this machine.
private struct LoopbackResolver: Resolver, Sendable {
  let loop: any EventLoop

  func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
    addresses("127.0.0.1", port)
  }

  func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
    addresses("::1", port)
  }

  func cancelQueries() {}

  private func addresses(_ address: String, _ port: Int) -> EventLoopFuture<[SocketAddress]> {
    loop.makeCompletedFuture { [try SocketAddress(ipAddress: address, port: port)] }
  }
}
