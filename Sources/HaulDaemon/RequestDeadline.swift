import NIOCore
import NIOHTTPTypes

/// Closes a connection whose first request, or whose body, does not arrive in time. An idle timeout
/// would begin again with each byte of a slow client.
final class RequestDeadline: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart

  private let head: TimeAmount
  private let body: TimeAmount
  private var timer: Scheduled<Void>?

  init(head: TimeAmount = .seconds(10), body: TimeAmount = .seconds(30)) {
    (self.head, self.body) = (head, body)
  }

  func handlerAdded(context: ChannelHandlerContext) { start(head, context) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head: start(body, context)
    case .body: break
    case .end: timer?.cancel()
    }
    context.fireChannelRead(data)
  }

  func channelInactive(context: ChannelHandlerContext) {
    timer?.cancel()
    context.fireChannelInactive()
  }

  private func start(_ limit: TimeAmount, _ context: ChannelHandlerContext) {
    timer?.cancel()
    let channel = context.channel
    timer = context.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
  }
}
