import HaulLibC
import NIOCore
import NIOPosix
import NIOSSL

/// Ends a connection in the way that a fault requests.
struct ConnectionClosing {
  let context: ChannelHandlerContext
  /// How long the client may take to close, or to receive what a reset would discard.
  private static let closeTimeout = TimeAmount.seconds(10)

  func end(_ ending: Fault.Ending) {
    switch ending {
    case .reset, .refuse, .demandHTTP1: resetWhenTaken(until: .now() + Self.closeTimeout)
    case .close, .goAway, .goAwayDemandingHTTP1, .endThenGoAway, .emptyData, .push: closeInOrder()
    case .closeWithoutNotify: closeOutput(of: belowTLS)
    case .stall: break
    }
  }

  /// The context below the TLS handler: closing there sends no close_notify.
  private var belowTLS: ChannelHandlerContext {
    let found = try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
    // Without such a handler there is no TLS.
    return found ?? context
  }

  /// Sends a FIN now. The socket stays until the client closes, because closing it with unread
  /// bytes would send a reset.
  private func closeOutput(of context: ChannelHandlerContext) {
    context.close(mode: .output, promise: nil)
    scheduleClose(of: context)
  }

  private func closeInOrder() {
    closeOutput(of: context)
  }

  private func scheduleClose(of context: ChannelHandlerContext) {
    let task = context.eventLoop.assumeIsolated().scheduleTask(in: Self.closeTimeout) {
      context.close(mode: .all, promise: nil)
    }
    context.channel.closeFuture.whenComplete { _ in task.cancel() }
  }

  /// With linger 0, closing drops what the kernel has not delivered. So this waits until all is
  /// acknowledged.
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
    // A closed channel has no socket, and nothing remains to be done.
    try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(
      of: NIOBSDSocket.Handle.self, body)
  }
}
