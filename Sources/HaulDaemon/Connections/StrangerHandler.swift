import HaulCore
import HTTPTypes
package import NIOCore
package import NIOHTTPTypes

/// Limits what a client costs that has not shown a token: its connection may be closed for a newer
/// one, and the body of a refused request is discarded.
package final class StrangerHandler: ChannelDuplexHandler, RemovableChannelHandler {
  package typealias InboundIn = HTTPRequestPart
  package typealias InboundOut = HTTPRequestPart
  package typealias OutboundIn = HTTPResponsePart
  package typealias OutboundOut = HTTPResponsePart

  private let check: TokenCheck
  private let places: ConnectionPlaces
  private var isStranger = true
  /// Whether a request was refused: the connection is closed after its response.
  private var isRefused = false

  package init(_ check: TokenCheck, _ places: ConnectionPlaces) {
    (self.check, self.places) = (check, places)
  }

  package func handlerAdded(context: ChannelHandlerContext) {
    let (channel, places) = (context.channel, places)
    let id = ObjectIdentifier(channel)
    let peer = channel.remoteAddress?.ipAddress.flatMap { IPAddress(host: $0)?.unmapped.network64 }
    places.enter(id, from: peer) { channel.close(promise: nil) }
    channel.closeFuture.whenComplete { _ in places.leave(id) }
  }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if isRefused { return }
    guard case .head(var head) = unwrapInboundIn(data) else {
      return context.fireChannelRead(data)
    }
    if isStranger, check.isAuthorized(head.headerFields) { admit(context) }
    isRefused = check.refusal(of: head) != nil
    guard isRefused else { return context.fireChannelRead(data) }
    head.headerFields[.connection] = "close"
    context.fireChannelRead(wrapInboundOut(.head(head)))
    context.fireChannelRead(wrapInboundOut(.end(nil)))
  }

  package func write(
    context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
  ) {
    guard isRefused, case .head(var head) = unwrapOutboundIn(data) else {
      return context.write(data, promise: promise)
    }
    head.headerFields[.connection] = "close"
    context.write(wrapOutboundOut(.head(head)), promise: promise)
  }

  private func admit(_ context: ChannelHandlerContext) {
    guard places.admit(ObjectIdentifier(context.channel)) else { return }
    isStranger = false
    context.fireUserInboundEventTriggered(ClientAdmitted())
  }
}

/// The client of a connection has shown a token.
package struct ClientAdmitted: Sendable {
  package init() {}
}
