import HaulCore
import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2

/// Closes a connection whose server sends a status below 100 (RFC 9110, section 15): the client
/// treats it as interim, and crashes on the body that follows.
final class StatusCheckHandler: ChannelInboundHandler, Sendable {
  typealias InboundIn = HTTPClientResponsePart
  typealias InboundOut = HTTPClientResponsePart

  static let error = TransferError(
    .protocolViolation, "the server sent an invalid status",
    advice: "it must be a number from 100 to 999")

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(let head) = unwrapInboundIn(data), head.status.code < 100 else {
      return context.fireChannelRead(data)
    }
    context.fireErrorCaught(Self.error)
    context.close(promise: nil)
  }
}

/// The same for an HTTP/2 stream, before a status that is not a number crashes the program. An
/// answer that has lost bytes is asked for again over HTTP/1.1.
final class StreamStatusHandler: ChannelInboundHandler, Sendable {
  typealias InboundIn = HTTP2Frame.FramePayload
  typealias InboundOut = HTTP2Frame.FramePayload

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .headers(let frame) = unwrapInboundIn(data), let error = Self.error(frame.headers)
    else { return context.fireChannelRead(data) }
    context.fireErrorCaught(error)
    context.close(promise: nil)
  }

  private static func error(_ fields: HPACKHeaders) -> (any Error)? {
    // One look at each field: every answer comes here.
    var (hasStatus, hasLostBytes) = (false, false)
    for (name, value, _) in fields {
      if name == ":status" {
        guard isStatus(value) else { return StatusCheckHandler.error }
        hasStatus = true
      } else if Self.hasLostBytes(name, value) {
        hasLostBytes = true
      }
    }
    // A trailer has no status, and nothing of it is used.
    guard hasStatus, hasLostBytes else { return nil }
    return NIOHTTP2Errors.streamClosed(streamID: .rootStream, errorCode: .http11Required)
  }

  /// The library replaces bytes that are not UTF-8. What goes back to the server would be something
  /// else, and two values could become one.
  private static func hasLostBytes(_ name: String, _ value: String) -> Bool {
    // The first byte of U+FFFD.
    value.utf8.contains(0xEF) && value.unicodeScalars.contains("\u{FFFD}")
      && (name == "location" || FieldText.returned.contains(name))
  }

  /// Three digits (RFC 9113, section 8.3.2).
  private static func isStatus(_ text: String) -> Bool {
    text.utf8.count == 3 && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
      && !text.hasBytePrefix("0")
  }
}
