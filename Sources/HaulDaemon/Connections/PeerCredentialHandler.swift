import HaulLibC
import Logging
import NIOCore

/// Closes connections of other users, although the socket's directory already keeps them out.
final class PeerCredentialHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = Any
  typealias InboundOut = Any

  /// `struct ucred` of Linux.
  private struct Peer {
    var pid: Int32 = 0
    var uid: UInt32 = 0
    var gid: UInt32 = 0
  }

  private let logger: Logger

  init(logger: Logger) { self.logger = logger }

  func handlerAdded(context: ChannelHandlerContext) {
    let channel = context.channel
    guard let provider = channel as? any SocketOptionProvider else {
      return channel.close(promise: nil)
    }
    let logger = logger
    let peer: EventLoopFuture<Peer> = provider.unsafeGetSocketOption(
      level: .socket, name: .init(rawValue: SO_PEERCRED))
    peer.whenComplete { result in
      if case .success(let credentials) = result, credentials.uid == geteuid() { return }
      logger.warning("a connection of another user was closed")
      channel.close(promise: nil)
    }
  }
}
