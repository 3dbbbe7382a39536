import HaulCore
import NIOCore
import NIOHTTP1

/// Sends what the client cannot represent: a path that is not text when percent-decoded (`%ff`),
/// which would become `/`, and the bytes of values that are not UTF-8 (`FieldText`).
final class RawHeadHandler: ChannelOutboundHandler {
  typealias OutboundIn = HTTPClientRequestPart
  typealias OutboundOut = HTTPClientRequestPart

  /// The field that carries the path to this handler; it is not sent.
  static let field = "Haul-Target"

  /// Stands between the encoder and the network.
  let encoded = Encoded()

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard case .head(var head) = unwrapOutboundIn(data) else {
      return context.write(data, promise: promise)
    }
    if let target = head.headers.first(name: Self.field) {
      head.uri = target
      head.headers.remove(name: Self.field)
    }
    // The encoder passes the head on before this call returns.
    encoded.isHead = true
    context.write(wrapOutboundOut(.head(head)), promise: promise)
    encoded.isHead = false
  }

  /// Replaces the characters that stand for bytes, in heads only.
  final class Encoded: ChannelOutboundHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    fileprivate var isHead = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      guard isHead, case .byteBuffer(let head) = unwrapOutboundIn(data) else {
        return context.write(data, promise: promise)
      }
      let bytes = FieldText.bytes(of: String(buffer: head))
      context.write(wrapOutboundOut(.byteBuffer(ByteBuffer(bytes: bytes))), promise: promise)
    }
  }
}

extension FetchRequest {
  /// Whether the client can represent its path and its fields.
  var hasTextualHead: Bool { url.hasTextualPath && hasTextualFields }

  /// Whether no field has bytes of a server that are not UTF-8.
  var hasTextualFields: Bool {
    headers.fields.allSatisfy { FieldText.isText($0.value) } && FieldText.isText(ifRange ?? "")
  }
}
