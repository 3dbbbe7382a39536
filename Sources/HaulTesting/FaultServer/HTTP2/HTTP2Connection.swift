import NIOCore
import NIOHTTP2

/// The connection below the streams of HTTP/2.
final class HTTP2Connection: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame

  static func add(
    to channel: any Channel, state: FaultServerState, now: @escaping @Sendable () -> Int64
  ) throws {
    let number = state.opened(channel)
    channel.closeFuture.whenComplete { _ in state.closed(connection: number) }
    var connection = NIOHTTP2Handler.ConnectionConfiguration()
    // A fault may send a wrong length.
    connection.contentLengthValidation = .disabled
    var streams = NIOHTTP2Handler.StreamConfiguration()
    streams.outboundBufferSizeHighWatermark = 256 << 10
    streams.outboundBufferSizeLowWatermark = 64 << 10
    let handler = NIOHTTP2Handler(
      mode: .server, eventLoop: channel.eventLoop, connectionConfiguration: connection,
      streamConfiguration: streams
    ) { stream in
      stream.eventLoop.makeCompletedFuture {
        let pipeline = stream.pipeline.syncOperations
        try pipeline.addHandler(HTTP2Stream())
        try pipeline.addHandler(
          FaultConnection(state: state, wire: .http2(connection: number), now: now))
      }
    }
    try channel.pipeline.syncOperations.addHandlers([handler, HTTP2Connection()])
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is FaultConnection.Drop {
      ConnectionClosing(context: context).end(.reset)
    } else {
      context.fireUserInboundEventTriggered(event)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The client broke off or sent invalid data; the streams record which responses that ended.
    context.close(promise: nil)
  }
}
