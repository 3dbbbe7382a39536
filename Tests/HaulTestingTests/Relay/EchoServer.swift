import NIOCore
import NIOPosix

/// Runs `body` with the port of a server that returns what it received, once its client has ended.
func withEcho(_ body: (Int) async throws -> Void) async throws {
  let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
    .childChannelOption(.allowRemoteHalfClosure, value: true)
    .childChannelInitializer { channel in
      channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.addHandler(EchoAtEnd())
      }
    }
    .bind(host: "127.0.0.1", port: 0).get()
  do {
    try await body(channel.localAddress?.port ?? 0)
  } catch {
    try await channel.close()
    throw error
  }
  try await channel.close()
}

private final class EchoAtEnd: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private var received = ByteBuffer()

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    received.writeBuffer(&bytes)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case ChannelEvent.inputClosed? = event as? ChannelEvent else { return }
    context.writeAndFlush(wrapOutboundOut(received)).assumeIsolated().whenComplete { _ in
      context.close(promise: nil)
    }
  }
}
