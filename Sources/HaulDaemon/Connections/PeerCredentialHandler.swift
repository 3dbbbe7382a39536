import HaulLibC
import Logging
import NIOCore

/// Which user of this machine is at the other end of a Unix socket.
enum PeerUser {
  /// `struct ucred` of Linux.
  private struct Credentials {
    var pid: Int32 = 0
    var uid: UInt32 = 0
    var gid: UInt32 = 0
  }

  /// Fails if the connection is no such socket, or was closed.
  static func of(_ channel: any Channel) -> EventLoopFuture<UInt32> {
    guard let provider = channel as? any SocketOptionProvider else {
      return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
    }
    let credentials: EventLoopFuture<Credentials> = provider.unsafeGetSocketOption(
      level: .socket, name: .init(rawValue: SO_PEERCRED))
    return credentials.map(\.uid)
  }
}

/// Closes connections of other users, although the socket's directory already keeps them out.
final class PeerCredentialHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = Any
  typealias InboundOut = Any

  private let logger: Logger

  init(logger: Logger) { self.logger = logger }

  func handlerAdded(context: ChannelHandlerContext) {
    let (channel, logger) = (context.channel, logger)
    PeerUser.of(channel).whenComplete { result in
      if case .success(let user) = result, user == geteuid() { return }
      logger.warning("a connection of another user was closed")
      channel.close(promise: nil)
    }
  }
}
