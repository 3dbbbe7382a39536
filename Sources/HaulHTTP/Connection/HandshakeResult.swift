import NIOConcurrencyHelpers
import NIOCore

/// The result of a handshake, which can be awaited before and after its end.
final class HandshakeResult: Sendable {
  private enum State {
    case running
    case awaited(EventLoopPromise<Void>)
    case ended(Result<Void, any Error>)
  }

  private let state = NIOLockedValueBox(State.running)

  func future(on channel: any Channel) -> EventLoopFuture<Void> {
    let promise = channel.eventLoop.makePromise(of: Void.self)
    let ended = state.withLockedValue { state -> Result<Void, any Error>? in
      if case .ended(let result) = state { return result }
      state = .awaited(promise)
      return nil
    }
    if let ended { promise.completeWith(ended) }
    return promise.futureResult
  }

  /// Sets the result, and removes the handler after a success; later calls keep the result.
  func complete(
    _ result: Result<Void, any Error>, _ context: ChannelHandlerContext,
    _ handler: some RemovableChannelHandler
  ) {
    let promise = state.withLockedValue { state -> EventLoopPromise<Void>? in
      defer { if case .ended = state {} else { state = .ended(result) } }
      if case .awaited(let promise) = state { return promise }
      return nil
    }
    if case .success = result {
      context.pipeline.syncOperations.removeHandler(handler, promise: nil)
    }
    promise?.completeWith(result)
  }
}
