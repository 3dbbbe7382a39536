import NIOCore
import NIOHTTP2

/// Refusals of a stream that concern the whole connection.
struct HTTP2Refusal {
  let context: ChannelHandlerContext

  private var streamID: Int {
    let id = try? context.channel.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID)
    // A closed stream has no number, and needs no refusal.
    return id.map { Int($0) } ?? 1
  }

  /// Sends GOAWAY (RFC 9113, section 6.8): this stream and later ones were not processed.
  func goAway(_ code: HTTP2ErrorCode = .noError) {
    let last = streamID > 2 ? HTTP2StreamID(streamID - 2) : .rootStream
    context.channel.parent?.writeAndFlush(Self.goAway(last, code), promise: nil)
  }

  /// Sends GOAWAY after the end of this stream, the last one that was processed.
  func goAway(after end: () -> Void) {
    // A closed stream has neither.
    let (last, parent) = (HTTP2StreamID(streamID), context.channel.parent)
    end()
    parent?.writeAndFlush(Self.goAway(last, .noError), promise: nil)
  }

  private static func goAway(_ last: HTTP2StreamID, _ code: HTTP2ErrorCode) -> HTTP2Frame {
    HTTP2Frame(
      streamID: .rootStream,
      payload: .goAway(lastStreamID: last, errorCode: code, opaqueData: nil))
  }

  /// Sends PUSH_PROMISE (RFC 9113, section 6.6) as raw bytes, because the library does not send
  /// what the client forbade.
  func push() {
    let headers: [UInt8] = [0x82, 0x87, 0x84, 0x41, 0x01, 0x68]
    var frame = context.channel.allocator.buffer(capacity: 32)
    frame.writeBytes([0, 0, UInt8(4 + headers.count), 0x05, 0x04])
    frame.writeInteger(UInt32(streamID))
    frame.writeInteger(UInt32(2))
    frame.writeBytes(headers)
    guard let parent = context.channel.parent else { return }
    do {
      // Written there, it bypasses the encoder of frames.
      let below = try parent.pipeline.syncOperations.context(handlerType: NIOHTTP2Handler.self)
      below.writeAndFlush(NIOAny(frame), promise: nil)
    } catch {
      context.fireErrorCaught(error)
    }
  }
}
