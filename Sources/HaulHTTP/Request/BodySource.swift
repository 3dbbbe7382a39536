import HaulCore
import NIOConcurrencyHelpers
import NIOCore

/// Passes a body to its reader, at the reader's speed.
final class BodySource: NIOAsyncSequenceProducerDelegate {
  typealias Producer = NIOThrowingAsyncSequenceProducer<
    ByteBuffer, any Error, NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark,
    BodySource
  >

  private struct State {
    var source: Producer.Source?
    /// Pending until the reader wants more.
    var demand: EventLoopPromise<Void>?
    /// Bytes passed on since the reader had read everything.
    var unread = 0
  }

  /// The most bytes that may wait for the reader: TLS delivers pieces of 16 KiB, and waiting after
  /// each would cost time.
  private static let maximumUnread = 256 << 10

  private let state = NIOLockedValueBox(State())
  /// Called once, when the reader has released the body.
  private let abandoned: @Sendable () -> Void

  private init(_ abandoned: @escaping @Sendable () -> Void) { self.abandoned = abandoned }

  /// - Parameter abandoned: called once when the reader has released the body, which may be after
  ///   its end.
  static func make(
    abandoned: @escaping @Sendable () -> Void
  ) -> (source: BodySource, body: Producer) {
    let source = BodySource(abandoned)
    let made = Producer.makeSequence(
      elementType: ByteBuffer.self, failureType: (any Error).self,
      backPressureStrategy: .init(lowWatermark: 1, highWatermark: 1), finishOnDeinit: true,
      delegate: source)
    source.state.withLockedValue { $0.source = made.source }
    return (source, made.sequence)
  }

  /// A future that completes when the reader wants more; nil if it wants more already.
  func pass(_ bytes: ByteBuffer, on loop: any EventLoop) -> EventLoopFuture<Void>? {
    let (source, promise) = state.withLockedValue { state in
      state.unread += bytes.readableBytes
      if state.unread >= Self.maximumUnread, state.demand == nil {
        state.demand = loop.makePromise(of: Void.self)
      }
      return (state.source, state.demand)
    }
    switch source?.yield(bytes) {
    case .stopProducing: break
    case .produceMore: produceMore()
    case .dropped, nil:
      takeDemand()?.fail(CancellationError())
      if promise == nil { return loop.makeFailedFuture(CancellationError()) }
    }
    return promise?.futureResult
  }

  /// Passes on bytes that arrived earlier, without waiting for the reader.
  func add(_ bytes: ByteBuffer) {
    _ = state.withLockedValue { $0.source }?.yield(bytes)
  }

  func finish(_ error: (any Error)?) {
    let source = state.withLockedValue { state in
      defer { state.source = nil }
      return state.source
    }
    if let error { source?.finish(error) } else { source?.finish() }
  }

  private func takeDemand() -> EventLoopPromise<Void>? {
    state.withLockedValue { state in
      defer { (state.demand, state.unread) = (nil, 0) }
      return state.demand
    }
  }

  func produceMore() { takeDemand()?.succeed(()) }

  func didTerminate() {
    takeDemand()?.fail(CancellationError())
    abandoned()
  }
}
