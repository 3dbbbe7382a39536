import AsyncHTTPClient
import NIOCore
import NIOTLS

/// Reports when the TLS handshake below it has ended, then removes itself.
final class TLSHandshakeHandler: ChannelInboundHandler, RemovableChannelHandler, Sendable {
  typealias InboundIn = Any

  private let result: HandshakeResult

  init(_ result: HandshakeResult) { self.result = result }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case TLSUserEvent.handshakeCompleted? = event as? TLSUserEvent {
      result.complete(.success(()), context, self)
    } else {
      context.fireUserInboundEventTriggered(event)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    var error = error
    // The proxy has answered in time.
    if case ChannelError.connectTimeout = error { error = HTTPClientError.tlsHandshakeTimeout }
    result.complete(.failure(error), context, self)
  }

  func channelInactive(context: ChannelHandlerContext) {
    result.complete(.failure(ChannelError.eof), context, self)
    context.fireChannelInactive()
  }
}
