import HaulCore
import NIOCore
import NIOHTTP1

/// A reused connection ended before a byte of the answer: the server had closed it, and never
/// processed the request (RFC 9112, section 9.5).
struct ReusedConnectionEnded: Error {}

/// Stands between a connection and its strict parser: repairs what careless servers send (decision
/// 024), and distinguishes a failed request from one on a connection that the server had already
/// closed. One handler for both, because each one costs every request.
final class AnswerStartHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = HTTPClientRequestPart
  typealias OutboundOut = HTTPClientRequestPart

  private var normalizer = ResponseNormalizer()
  private var requests = 0
  private var isWaiting = false

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .head(let head) = unwrapOutboundIn(data) {
      normalizer.expectAnswer(toHead: head.method == .HEAD)
      isWaiting = true
      requests += 1
    }
    context.write(data, promise: promise)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    isWaiting = false
    let buffer = unwrapInboundIn(data)
    let normalized = buffer.withUnsafeReadableBytes { bytes in
      Result { () throws(TransferError) in try normalizer.take(bytes) }
    }
    switch normalized {
    case .success(nil): context.fireChannelRead(data)
    case .success(let bytes?):
      if !bytes.isEmpty { context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: bytes))) }
      if normalizer.hasEndedRepairedBody { context.close(promise: nil) }
    case .failure(let error):
      if let head = normalizer.refusal {
        context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: head)))
      }
      context.fireErrorCaught(error)
      context.close(promise: nil)
    }
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

extension NIOHTTPDecoderLimitConfiguration {
  /// For answers: as many fields as curl takes.
  static var ofAnswers: Self {
    var limits = Self()
    limits.maxHeaderFieldCount = 5000
    return limits
  }
}
