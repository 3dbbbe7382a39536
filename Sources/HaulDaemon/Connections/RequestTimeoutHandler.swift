package import NIOCore
package import NIOHTTPTypes

/// Closes a connection whose request does not arrive in time, or whose answer is not read. An idle
/// timeout would begin again with each byte of a slow client.
package final class RequestTimeoutHandler: ChannelDuplexHandler, RemovableChannelHandler {
  package typealias InboundIn = HTTPRequestPart
  package typealias InboundOut = HTTPRequestPart
  package typealias OutboundIn = HTTPResponsePart
  package typealias OutboundOut = HTTPResponsePart

  package struct Limits: Sendable {
    /// From the first byte of a connection to the end of the first head.
    let head: TimeAmount
    let body: TimeAmount
    /// From the end of an answer to the end of the next head.
    let next: TimeAmount
    /// How long a client may leave an answer unread that the system no longer buffers.
    let unread: TimeAmount

    package static let client = Limits(
      head: .seconds(10), body: .seconds(30), next: .seconds(60), unread: .seconds(60))
    /// For one without a token.
    package static let stranger = Limits(
      head: .seconds(5), body: .seconds(5), next: .seconds(5), unread: .seconds(5))
    /// While the daemon ends.
    static let ending = Limits(
      head: .seconds(1), body: .seconds(1), next: .seconds(1), unread: .seconds(1))
  }

  /// The longest that a connection stays open when the daemon ends.
  private static let end: TimeAmount = .seconds(8)

  private var limits: Limits
  private var request: Scheduled<Void>?
  private var reader: Scheduled<Void>?
  private var end: Scheduled<Void>?

  package init(_ limits: Limits) { self.limits = limits }

  package func handlerAdded(context: ChannelHandlerContext) {
    request = closing(context, in: limits.head)
  }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head: replaceRequest(closing(context, in: limits.body))
    case .body: break
    case .end: replaceRequest(nil)
    }
    context.fireChannelRead(data)
  }

  package func write(
    context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
  ) {
    if case .end = unwrapOutboundIn(data) { replaceRequest(closing(context, in: limits.next)) }
    context.write(data, promise: promise)
  }

  package func channelWritabilityChanged(context: ChannelHandlerContext) {
    watchReader(context)
    context.fireChannelWritabilityChanged()
  }

  package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case is ClientAdmitted: limits = .client
    case is ChannelShouldQuiesceEvent:
      limits = .ending
      end = closing(context, in: Self.end)
      // A client that does not read does not keep the daemon from ending.
      watchReader(context)
    default: break
    }
    context.fireUserInboundEventTriggered(event)
  }

  package func channelInactive(context: ChannelHandlerContext) {
    replaceRequest(nil)
    reader?.cancel()
    end?.cancel()
    context.fireChannelInactive()
  }

  private func watchReader(_ context: ChannelHandlerContext) {
    reader?.cancel()
    reader = context.channel.isWritable ? nil : closing(context, in: limits.unread)
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
