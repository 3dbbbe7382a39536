import NIOCore
import NIOHTTPTypes

/// Closes a connection whose request does not arrive in time, or whose answer is not read. An idle
/// timeout would begin again with each byte of a slow client.
final class RequestTimeoutHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  /// From the first byte of a connection to the end of the first head.
  private static let head: TimeAmount = .seconds(10)
  private static let body: TimeAmount = .seconds(30)
  /// From the end of an answer to the end of the next head.
  private static let next: TimeAmount = .seconds(60)
  /// How long a client may leave an answer unread that the system no longer buffers.
  private static let unread: TimeAmount = .seconds(60)

  private var request: Scheduled<Void>?
  private var reader: Scheduled<Void>?

  func handlerAdded(context: ChannelHandlerContext) {
    request = closing(context, in: Self.head)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head: replaceRequest(closing(context, in: Self.body))
    case .body: break
    case .end: replaceRequest(nil)
    }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .end = unwrapOutboundIn(data) { replaceRequest(closing(context, in: Self.next)) }
    context.write(data, promise: promise)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    reader?.cancel()
    reader = context.channel.isWritable ? nil : closing(context, in: Self.unread)
    context.fireChannelWritabilityChanged()
  }

  func channelInactive(context: ChannelHandlerContext) {
    replaceRequest(nil)
    reader?.cancel()
    context.fireChannelInactive()
  }

  private func replaceRequest(_ timer: Scheduled<Void>?) {
    request?.cancel()
    request = timer
  }

  private func closing(
    _ context: ChannelHandlerContext, in limit: TimeAmount
  ) -> Scheduled<Void> {
    let channel = context.channel
    return context.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
  }
}
