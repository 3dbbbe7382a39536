import NIOCore

/// A reused connection ended before a byte of the answer: the server had closed it, and never
/// processed the request (RFC 9112, section 9.5).
struct ReusedConnectionEnded: Error {}

/// Distinguishes a failed request from one on a connection that the server had already closed.
final class ReusedConnectionHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = NIOAny

  private var requests = 0
  private var isWaiting = false

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if !isWaiting {
      isWaiting = true
      requests += 1
    }
    context.write(data, promise: promise)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    isWaiting = false
    context.fireChannelRead(data)
  }

  func channelInactive(context: ChannelHandlerContext) {
    if ended() { context.fireErrorCaught(ReusedConnectionEnded()) }
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.fireErrorCaught(ended() ? ReusedConnectionEnded() : error)
  }

  /// Whether a reused connection ended before an answer; true only once.
  private func ended() -> Bool {
    defer { isWaiting = false }
    return isWaiting && requests > 1
  }
}
