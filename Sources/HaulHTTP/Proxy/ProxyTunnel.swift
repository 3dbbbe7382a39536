import HaulCore
import NIOCore

/// The client's side of a handshake that opens a tunnel: bytes in, bytes out.
protocol ProxyHandshake {
  var proxy: ProxyRules.Proxy { get }
  /// What is sent first.
  var greeting: [UInt8] { get }
  var isOpen: Bool { get }
  /// Bytes after the proxy's last message.
  var rest: [UInt8] { get }
  /// Takes received bytes; returns the bytes to send next.
  mutating func take(_ bytes: some Sequence<UInt8>) throws -> [UInt8]
}

/// Opens a tunnel on a connection to the proxy, then removes itself.
final class ProxyTunnel: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let result: HandshakeResult
  private var handshake: any ProxyHandshake

  init(_ handshake: any ProxyHandshake, _ result: HandshakeResult) {
    (self.handshake, self.result) = (handshake, result)
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
    result.complete(.failure(error is IOError ? closed : error), context, self)
  }

  func channelInactive(context: ChannelHandlerContext) {
    result.complete(.failure(closed), context, self)
    context.fireChannelInactive()
  }

  private var closed: TransferError { TransferError(closedEarly: handshake.proxy) }

  private func send(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
    guard !bytes.isEmpty else { return }
    let buffer = context.channel.allocator.buffer(bytes: bytes)
    context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
  }
}
