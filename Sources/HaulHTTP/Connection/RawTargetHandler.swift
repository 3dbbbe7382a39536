import NIOCore
import NIOHTTP1

/// Sends a path that is not text when percent-decoded (`%ff`). The client cannot represent it in
/// its addresses, and would request `/`.
final class RawTargetHandler: ChannelOutboundHandler, Sendable {
  typealias OutboundIn = HTTPClientRequestPart
  typealias OutboundOut = HTTPClientRequestPart

  /// The field that carries the path to this handler; it is not sent.
  static let field = "Haul-Target"

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard case .head(var head) = unwrapOutboundIn(data),
      let target = head.headers.first(name: Self.field)
    else { return context.write(data, promise: promise) }
    head.uri = target
    head.headers.remove(name: Self.field)
    context.write(wrapOutboundOut(.head(head)), promise: promise)
  }
}
