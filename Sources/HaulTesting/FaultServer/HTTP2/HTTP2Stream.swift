import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2

/// One HTTP/2 stream in the form of HTTP/1.1: it emits the parts of requests, and takes the bytes
/// of answers, unchunked.
final class HTTP2Stream: ChannelDuplexHandler {
  typealias InboundIn = HTTP2Frame.FramePayload
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = HTTP2Frame.FramePayload

  /// Ends the stream, as an outbound event.
  struct End: Sendable {
    let how: Fault.Ending
  }

  private var head: [UInt8] = []
  private var isInBody = false
  private static let endOfHead = Array("\r\n\r\n".utf8)
  /// Fields that HTTP/2 does not allow (RFC 9113, section 8.2.2).
  private static let connectionFields: Set = [
    "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade",
  ]

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .headers(let frame):
      context.fireChannelRead(wrapInboundOut(.head(Self.request(frame.headers))))
      if frame.endStream { context.fireChannelRead(wrapInboundOut(.end(nil))) }
    case .data(let frame):
      if case .byteBuffer(let bytes) = frame.data {
        context.fireChannelRead(wrapInboundOut(.body(bytes)))
      }
      if frame.endStream { context.fireChannelRead(wrapInboundOut(.end(nil))) }
    default: break
    }
  }

  private static func request(_ fields: HPACKHeaders) -> HTTPRequestHead {
    var head = HTTPRequestHead(
      version: .http1_1, method: HTTPMethod(rawValue: fields.first(name: ":method") ?? "GET"),
      uri: fields.first(name: ":path") ?? "/")
    if let authority = fields.first(name: ":authority") {
      head.headers.add(name: "Host", value: authority)
    }
    for field in fields where !field.name.hasPrefix(":") {
      head.headers.add(name: field.name, value: field.value)
    }
    return head
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let bytes = unwrapOutboundIn(data)
    guard !isInBody else { return send(bytes, promise, context) }
    head.append(contentsOf: bytes.readableBytesView)
    // The promise belongs to the last piece.
    while !isInBody, let end = head.firstRange(of: Self.endOfHead) {
      let text = String(decoding: head[..<end.lowerBound], as: UTF8.self)
      head.removeSubrange(..<end.upperBound)
      sendHead(text, context)
    }
    if isInBody, !head.isEmpty {
      send(context.channel.allocator.buffer(bytes: head), promise, context)
      head = []
    } else {
      promise?.succeed()
    }
  }

  private func send(
    _ bytes: ByteBuffer, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext
  ) {
    context.write(wrapOutboundOut(.data(.init(data: .byteBuffer(bytes)))), promise: promise)
  }

  private func sendHead(_ text: String, _ context: ChannelHandlerContext) {
    let lines = text.split(separator: "\r\n")
    let words = lines.first?.split(separator: " ") ?? []
    let status = words.count > 1 ? String(words[1]) : "500"
    var fields = HPACKHeaders([(":status", status)])
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      let name = line[..<colon].lowercased()
      let value = line[line.index(after: colon)...].drop { $0 == " " }
      if !Self.connectionFields.contains(name) { fields.add(name: name, value: String(value)) }
    }
    isInBody = !status.hasPrefix("1")
    context.write(wrapOutboundOut(.headers(.init(headers: fields))), promise: nil)
  }

  func triggerUserOutboundEvent(
    context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?
  ) {
    guard let end = event as? End else {
      return context.triggerUserOutboundEvent(event, promise: promise)
    }
    switch end.how {
    case .stall: break
    case .close, .closeWithoutNotify: sendEmpty(endStream: true, context)
    case .emptyData:
      sendEmpty(endStream: false, context)
      sendEmpty(endStream: false, context)
    case .endThenGoAway:
      HTTP2Refusal(context: context).goAway { sendEmpty(endStream: true, context) }
    case .reset: reset(.internalError, context)
    case .refuse: reset(.refusedStream, context)
    case .demandHTTP1: reset(.http11Required, context)
    case .goAway: HTTP2Refusal(context: context).goAway()
    case .goAwayDemandingHTTP1: HTTP2Refusal(context: context).goAway(.http11Required)
    case .push: HTTP2Refusal(context: context).push()
    }
  }

  private func sendEmpty(endStream: Bool, _ context: ChannelHandlerContext) {
    let empty = context.channel.allocator.buffer(capacity: 0)
    let data = HTTP2Frame.FramePayload.Data(data: .byteBuffer(empty), endStream: endStream)
    context.writeAndFlush(wrapOutboundOut(.data(data)), promise: nil)
  }

  private func reset(_ code: HTTP2ErrorCode, _ context: ChannelHandlerContext) {
    context.writeAndFlush(wrapOutboundOut(.rstStream(code)), promise: nil)
  }
}
