import HaulCore
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL

/// Prepares a connection before its first request.
struct ConnectionPreparation: Sendable {
  let route: Route
  let tls: TLSConfiguration
  /// The host of its connections; nil where those to a proxy are shared.
  let host: String?
  /// Whether the server's certificate must have the name of the host.
  let checksName: Bool
  /// Whether requests may have a path or a field that the client cannot represent.
  let hasRawHead: Bool
  /// Whether connections to private addresses are refused.
  let isPublicOnly: Bool
  let privateAddresses: PrivateHostRegistry
  /// For the handshakes of a tunnel.
  let timeout: TimeAmount
  let digests: DigestNonces
  /// Addresses by lower-case name, used instead of a lookup.
  let addresses: [String: String]
  let userAgent: String
  /// Returns the time, for a connection that only reads the server's certificate.
  let inspectionTime: (@Sendable () -> Double)?
  /// For the handshakes in tunnels.
  private let tunnelTLS = SharedTLSContext()

  func prepareHTTP1(_ channel: any Channel) -> EventLoopFuture<Void> {
    let readied = Self.widenReads(channel).flatMapThrowing {
      let pipeline = channel.pipeline.syncOperations
      let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
      try pipeline.addHandler(AnswerStartHandler(), position: .before(decoder))
      try pipeline.addHandler(StatusCheckHandler(), position: .after(decoder))
      if case .forwarded(let proxy) = route {
        try pipeline.addHandler(AbsoluteFormHandler(proxy), position: .before(decoder))
      }
      if hasRawHead {
        let raw = RawHeadHandler()
        let encoder = try pipeline.handler(type: HTTPRequestEncoder.self)
        try pipeline.addHandler(raw.encoded, position: .before(encoder))
        try pipeline.addHandler(raw, position: .before(decoder))
      }
    }.flatMap { Self.widenHeads(channel) }
    return readied.flatMap { openTunnel(channel) }.flatMap { checkName(channel) }
  }

  func prepareHTTP2(_ channel: any Channel) -> EventLoopFuture<Void> {
    Self.widenReads(channel).flatMapThrowing {
      let pipeline = channel.pipeline.syncOperations
      let frames = try pipeline.handler(type: NIOHTTP2Handler.self)
      try pipeline.addHandler(HTTP2ConnectionHandler(), position: .after(frames))
    }.flatMap { checkName(channel) }
  }

  /// Prepares one HTTP/2 stream.
  static func prepareStream(_ channel: any Channel) -> EventLoopFuture<Void> {
    channel.eventLoop.makeCompletedFuture {
      let pipeline = channel.pipeline.syncOperations
      let codec = try pipeline.handler(type: HTTP2FramePayloadToHTTP1ClientCodec.self)
      try pipeline.addHandler(StreamStatusHandler(), position: .before(codec))
    }
  }

  private func checkName(_ channel: any Channel) -> EventLoopFuture<Void> {
    let checked = channel.eventLoop.makeCompletedFuture {
      guard let host else { return }
      if checksName { try HostnameVerification.check(host, on: channel) }
      // A proxy has another address than the host.
      if route == .direct {
        try privateAddresses.check(channel, to: host, mustBePublic: isPublicOnly)
      }
      if let inspectionTime { throw try CertificateInspection(of: channel, at: inspectionTime()) }
    }
    checked.whenFailure { _ in channel.close(promise: nil) }
    return checked
  }

  /// Sets larger reads, for fewer wake-ups: the default grows only from 2 to 64 KiB.
  private static func widenReads(_ channel: any Channel) -> EventLoopFuture<Void> {
    channel.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 256 << 10))
  }

  /// Replaces the client's parser by one that takes as many fields as ours.
  private static func widenHeads(_ channel: any Channel) -> EventLoopFuture<Void> {
    do {
      let pipeline = channel.pipeline.syncOperations
      let narrow = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
      let wide = HTTPResponseDecoder(
        leftOverBytesStrategy: .dropBytes, informationalResponseStrategy: .forward,
        limitConfiguration: .ofAnswers)
      try pipeline.addHandler(ByteToMessageHandler(wide), position: .after(narrow))
      return pipeline.removeHandler(narrow)
    } catch {
      return channel.eventLoop.makeFailedFuture(error)
    }
  }

  /// Does the handshakes of a tunnel that the client knows nothing of.
  private func openTunnel(_ channel: any Channel) -> EventLoopFuture<Void> {
    switch route {
    case .direct, .forwarded, .tunnel: channel.eventLoop.makeSucceededVoidFuture()
    case .socks(let proxy, let origin):
      openTunnel(channel, SOCKSHandshake(proxy, to: origin), to: origin)
    case .connect(let proxy, let origin):
      openTunnel(
        channel,
        ConnectHandshake(
          proxy, to: addresses[origin.host] ?? origin.host, origin.port, userAgent: userAgent,
          digest: DigestNonces.Space(proxy).flatMap { digests.use(in: $0) }),
        to: origin)
    }
  }

  private func openTunnel(
    _ channel: any Channel, _ handshake: any ProxyHandshake, to origin: ResourceURL.Origin
  ) -> EventLoopFuture<Void> {
    let limit = channel.eventLoop.scheduleTask(in: timeout) {
      channel.pipeline.fireErrorCaught(ChannelError.connectTimeout(timeout))
    }
    let tunnel = HandshakeResult()
    let opened = channel.eventLoop.makeCompletedFuture {
      try channel.pipeline.syncOperations.addHandler(
        ProxyTunnel(handshake, tunnel), position: .first)
    }.flatMap {
      tunnel.future(on: channel)
    }.flatMap {
      origin.scheme == "https"
        ? startTLS(channel, origin) : channel.eventLoop.makeSucceededVoidFuture()
    }
    opened.whenComplete { result in
      limit.cancel()
      if case .failure = result { channel.close(promise: nil) }
    }
    return opened
  }

  private func startTLS(
    _ channel: any Channel, _ origin: ResourceURL.Origin
  ) -> EventLoopFuture<Void> {
    let ended = HandshakeResult()
    let address = IPAddress(host: origin.host)
    let checksAddress = address != nil && tls.certificateVerification != .none
    return channel.eventLoop.makeCompletedFuture {
      var tls = tls
      tls.applicationProtocols = ["http/1.1"]
      let name = address == nil ? HostnameVerification.serverName(of: origin.host) : nil
      // The library would compare the certificate with the address of the proxy.
      if checksAddress { tls.certificateVerification = .noHostnameVerification }
      let handler = try NIOSSLClientHandler(
        context: tunnelTLS.context(for: tls), serverHostname: name)
      try channel.pipeline.syncOperations.addHandlers(
        [handler, TLSHandshakeHandler(ended)], position: .first)
    }.flatMap {
      ended.future(on: channel)
    }.flatMapThrowing {
      guard checksAddress, let address else { return }
      try HostnameVerification.check(address, on: channel)
    }
  }
}

/// The TLS context of all connections of one client, made once: that reads every authority.
private final class SharedTLSContext: Sendable {
  private let made = NIOLockedValueBox<NIOSSLContext?>(nil)

  /// - Parameter configuration: the same in every call.
  func context(for configuration: TLSConfiguration) throws -> NIOSSLContext {
    try made.withLockedValue { made in
      if let made { return made }
      let context = try NIOSSLContext(configuration: configuration)
      made = context
      return context
    }
  }
}
