import NIOCore
import NIOPosix
import NIOSSL

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Ends a connection in exactly the way a fault asks for.
struct ConnectionClosing {
  let context: ChannelHandlerContext
  /// How long the other side may take to close after us, or to take what a reset would discard.
  private static let patience = TimeAmount.seconds(10)

  func end(_ ending: Fault.Ending) {
    switch ending {
    case .reset, .refuse, .demandHTTP1: resetWhenTaken(until: .now() + Self.patience)
    case .close, .goAway, .push: closeInOrder()
    case .closeWithoutNotify: closeOutput(of: belowTLS)
    case .stall: break
    }
  }

  /// The context under the TLS handler: closing there sends no close_notify.
  private var belowTLS: ChannelHandlerContext {
    let found = try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
    // No such handler means no TLS.
    return found ?? context
  }

  /// A FIN now; the socket stays until the other side closes, as closing it with bytes unread
  /// would turn the FIN into a reset.
  private func closeOutput(of context: ChannelHandlerContext) {
    context.close(mode: .output, promise: nil)
    scheduleClose(of: context)
  }

  private func closeInOrder() {
    closeOutput(of: context)
  }

  private func scheduleClose(of context: ChannelHandlerContext) {
    let task = context.eventLoop.assumeIsolated().scheduleTask(in: Self.patience) {
      context.close(mode: .all, promise: nil)
    }
    context.channel.closeFuture.whenComplete { _ in task.cancel() }
  }

  /// Linger 0 drops what the kernel has not delivered, so it waits until all was acknowledged.
  private func resetWhenTaken(until deadline: NIODeadline) {
    guard context.channel.isActive else { return }
    if unacknowledgedBytes > 0, NIODeadline.now() < deadline {
      context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(1)) {
        resetWhenTaken(until: deadline)
      }
      return
    }
    setLingerZero()
    belowTLS.close(mode: .all, promise: nil)
  }

  private var unacknowledgedBytes: Int32 {
    var bytes: Int32 = 0
    #if os(Linux)
      let queued = UInt(TIOCOUTQ)
      withSocket { _ = ioctl($0, queued, &bytes) }
    #else
      var size = socklen_t(MemoryLayout<Int32>.size)
      withSocket { _ = getsockopt($0, SOL_SOCKET, SO_NWRITE, &bytes, &size) }
    #endif
    return bytes
  }

  private func setLingerZero() {
    var value = linger(l_onoff: 1, l_linger: 0)
    let size = socklen_t(MemoryLayout<linger>.size)
    withSocket { _ = setsockopt($0, SOL_SOCKET, SO_LINGER, &value, size) }
  }

  private func withSocket(_ body: (NIOBSDSocket.Handle) -> Void) {
    // A channel that is closed already has no socket, and then there is nothing left to do.
    try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(
      of: NIOBSDSocket.Handle.self, body)
  }
}
