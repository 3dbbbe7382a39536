import NIOCore
import NIOHTTP2

/// Reports to the streams of a connection why it ends, which the HTTP/2 library does not always do.
final class HTTP2ConnectionHandler: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame
  typealias InboundOut = HTTP2Frame

  /// The last stream that the server has processed or will process.
  private var lastStream: HTTP2StreamID?
  private var open: Set<HTTP2StreamID> = []
  private var isOver = false

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .goAway(let last, _, _) = unwrapInboundIn(data).payload { lastStream = last }
    context.fireChannelRead(data)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case let created as NIOHTTP2StreamCreatedEvent:
      open.insert(created.streamID)
      context.fireUserInboundEventTriggered(created)
    case let closed as StreamClosedEvent:
      open.remove(closed.streamID)
      if !isOver { context.fireUserInboundEventTriggered(explained(closed)) }
    default: context.fireUserInboundEventTriggered(event)
    }
  }

  /// A stream after the last one in GOAWAY was not processed (RFC 9113, section 6.8); the library
  /// reports it as cancelled.
  private func explained(_ closed: StreamClosedEvent) -> StreamClosedEvent {
    guard closed.reason == .cancel, let lastStream, closed.streamID > lastStream else {
      return closed
    }
    return StreamClosedEvent(streamID: closed.streamID, reason: .refusedStream)
  }

  /// A connection error ends every stream (RFC 9113, section 5.4.1), but the library does not close
  /// the connection. Retries should use HTTP/1.1.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard !isOver, Self.isOfTheConnection(error) else { return context.fireErrorCaught(error) }
    isOver = true
    for stream in open.sorted() {
      let closed = StreamClosedEvent(streamID: stream, reason: .http11Required)
      context.fireUserInboundEventTriggered(closed)
    }
    open = []
    context.fireErrorCaught(error)
    context.close(promise: nil)
  }

  private static func isOfTheConnection(_ error: any Error) -> Bool {
    switch error {
    case is NIOHTTP2Errors.StreamClosed, is NIOHTTP2Errors.StreamError,
      is NIOHTTP2Errors.NoSuchStream, is NIOHTTP2Errors.ContentLengthViolated,
      is NIOHTTP2Errors.BadStreamStateTransition:
      false
    default: error is any NIOHTTP2Error
    }
  }
}
