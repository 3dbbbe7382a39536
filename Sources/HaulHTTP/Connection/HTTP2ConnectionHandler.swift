import NIOCore
import NIOHTTP2

/// Reports to the streams of a connection why it ends, which the HTTP/2 library does not always do.
final class HTTP2ConnectionHandler: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame
  typealias InboundOut = HTTP2Frame

  private struct GoAway {
    /// The last stream that the server has processed or will process.
    let lastStream: HTTP2StreamID
    let code: HTTP2ErrorCode
  }

  private var goAway: GoAway?
  private var open: Set<HTTP2StreamID> = []
  /// The stream that the server reset last.
  private var lastReset: HTTP2StreamID?
  private var isOver = false

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    if case .rstStream = frame.payload { lastReset = frame.streamID }
    guard case .goAway(let last, let code, _) = frame.payload else {
      return context.fireChannelRead(data)
    }
    goAway = GoAway(lastStream: last, code: code)
    context.fireChannelRead(data)
    // The client closes the connection after a later stream, but not if there is none.
    if open.isEmpty { context.close(promise: nil) }
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

  private func explained(_ closed: StreamClosedEvent) -> StreamClosedEvent {
    let isViolation = closed.reason == .protocolError || closed.reason == .flowControlError
    // The library reset it, for example because its length is wrong (RFC 9113, section 8.1.1).
    if isViolation, lastReset != closed.streamID {
      return StreamClosedEvent(streamID: closed.streamID, reason: .http11Required)
    }
    // A stream after the last one in GOAWAY was not processed (RFC 9113, section 6.8); the library
    // reports it as cancelled.
    guard closed.reason == .cancel, let goAway, closed.streamID > goAway.lastStream else {
      return closed
    }
    return StreamClosedEvent(
      streamID: closed.streamID,
      reason: goAway.code == .http11Required ? .http11Required : .refusedStream)
  }

  /// A connection error ends every stream (RFC 9113, section 5.4.1), but the library does not close
  /// the connection. Retries should use HTTP/1.1.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard !isOver, Self.isOfTheConnection(error) else { return context.fireErrorCaught(error) }
    requireHTTP1(context)
    context.fireErrorCaught(error)
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    if !isOver, goAway?.code == .http11Required { requireHTTP1(context) }
    context.fireChannelInactive()
  }

  /// Ends every stream.
  private func requireHTTP1(_ context: ChannelHandlerContext) {
    isOver = true
    for stream in open.sorted() {
      let closed = StreamClosedEvent(streamID: stream, reason: .http11Required)
      context.fireUserInboundEventTriggered(closed)
    }
    open = []
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
