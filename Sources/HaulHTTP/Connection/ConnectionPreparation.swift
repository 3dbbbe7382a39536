import HaulCore
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
  /// Whether requests may have a path that is not text when percent-decoded.
  let hasRawTarget: Bool
  /// Whether connections to private addresses are refused.
  let isPublicOnly: Bool
  let privateAddresses: PrivateHostRegistry
  /// For the handshakes of a tunnel.
  let timeout: TimeAmount

  func prepareHTTP1(_ channel: any Channel) -> EventLoopFuture<Void> {
    let readied = Self.widenReads(channel).flatMapThrowing {
      let pipeline = channel.pipeline.syncOperations
      let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
      try pipeline.addHandler(ReusedConnectionHandler(), position: .before(decoder))
      try pipeline.addHandler(StatusCheckHandler(), position: .after(decoder))
      if case .forwarded(let proxy) = route {
        try pipeline.addHandler(AbsoluteFormHandler(proxy), position: .before(decoder))
      }
      if hasRawTarget { try pipeline.addHandler(RawTargetHandler(), position: .before(decoder)) }
    }
    guard case .socks(let proxy, let origin) = route else {
      return readied.flatMap { checkName(channel) }
    }
    return readied.flatMap { openTunnel(channel, through: proxy, to: origin) }
      .flatMap { checkName(channel) }
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
      guard route == .direct else { return }
      try privateAddresses.check(channel, to: host, mustBePublic: isPublicOnly)
    }
    checked.whenFailure { _ in channel.close(promise: nil) }
    return checked
  }

  /// Sets larger reads, for fewer wake-ups: the default grows only from 2 to 64 KiB.
  private static func widenReads(_ channel: any Channel) -> EventLoopFuture<Void> {
    channel.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 256 << 10))
  }

  private func openTunnel(
    _ channel: any Channel, through proxy: ProxyRules.Proxy, to origin: ResourceURL.Origin
  ) -> EventLoopFuture<Void> {
    let limit = channel.eventLoop.scheduleTask(in: timeout) {
      channel.pipeline.fireErrorCaught(ChannelError.connectTimeout(timeout))
    }
    let tunnel = HandshakeResult()
    let opened = channel.eventLoop.makeCompletedFuture {
      try channel.pipeline.syncOperations.addHandler(
        SOCKSTunnel(proxy, to: origin, tunnel), position: .first)
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
    return channel.eventLoop.makeCompletedFuture {
      var tls = tls
      tls.applicationProtocols = ["http/1.1"]
      let name = IPAddress(origin.host) == nil ? origin.host : nil
      let handler = try NIOSSLClientHandler(
        context: NIOSSLContext(configuration: tls), serverHostname: name)
      try channel.pipeline.syncOperations.addHandlers(
        [handler, TLSHandshakeHandler(ended)], position: .first)
    }.flatMap { ended.future(on: channel) }
  }
}
