import HaulCore
import NIOCore
import NIOHTTP1

/// Repairs what careless servers send before the strict parser reads it (decision 024).
final class ResponseNormalizingHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = HTTPClientRequestPart
  typealias OutboundOut = HTTPClientRequestPart

  private var normalizer = ResponseNormalizer()

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .head = unwrapOutboundIn(data) { normalizer.expectAnswer() }
    context.write(data, promise: promise)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
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
}

extension NIOHTTPDecoderLimitConfiguration {
  /// For answers: as many fields as curl takes.
  static var ofAnswers: Self {
    var limits = Self()
    limits.maxHeaderFieldCount = 5000
    return limits
  }
}
