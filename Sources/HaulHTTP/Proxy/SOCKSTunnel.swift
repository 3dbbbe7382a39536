import HaulCore
import NIOCore

/// Opens a SOCKS5 tunnel on a connection to the proxy, then removes itself.
final class SOCKSTunnel: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let result: HandshakeResult
  private var handshake: SOCKSHandshake

  init(_ proxy: ProxyRules.Proxy, to origin: ResourceURL.Origin, _ result: HandshakeResult) {
    self.result = result
    handshake = SOCKSHandshake(proxy, to: origin)
  }

  func handlerAdded(context: ChannelHandlerContext) {
    send(handshake.greeting, context)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !handshake.isOpen else { return context.fireChannelRead(data) }
    do {
      send(try handshake.take(unwrapInboundIn(data).readableBytesView), context)
      guard handshake.isOpen else { return }
      let rest = handshake.rest
      result.complete(.success(()), context, self)
      if !rest.isEmpty {
        context.fireChannelRead(wrapInboundOut(context.channel.allocator.buffer(bytes: rest)))
      }
    } catch {
      result.complete(.failure(error), context, self)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    result.complete(.failure(error), context, self)
  }

  func channelInactive(context: ChannelHandlerContext) {
    let error = TransferError(.proxy, "the proxy closed the connection", isRetryable: true)
    result.complete(.failure(error), context, self)
    context.fireChannelInactive()
  }

  private func send(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
    guard !bytes.isEmpty else { return }
    let buffer = context.channel.allocator.buffer(bytes: bytes)
    context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
  }
}
