import NIOCore

/// A reused connection ended before a byte of the next answer: the server had closed it, and never
/// processed the request (RFC 9112, section 9.5).
struct KeptConnectionEnded: Error {}

/// Distinguishes a request on a connection that the server had closed from a failed request.
final class KeptConnectionWatch: ChannelDuplexHandler {
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
    if ended() { context.fireErrorCaught(KeptConnectionEnded()) }
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.fireErrorCaught(ended() ? KeptConnectionEnded() : error)
  }

  /// Whether it was such an end; reported once.
  private func ended() -> Bool {
    defer { isWaiting = false }
    return isWaiting && requests > 1
  }
}
