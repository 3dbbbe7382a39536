import HaulCore
import NIOConcurrencyHelpers

/// How much of a body the connection has taken, and since when it takes nothing.
final class UploadProgress: HeartbeatReceiver {
  private struct State {
    /// Where the body of this request begins in the file, and its length.
    var start: Int64 = 0
    var count: Int64 = 0
    /// Of this request.
    var sent: Int64 = 0
    /// Of all attempts.
    var sentInAll: Int64 = 0
    var meter = RateMeter()
    /// Nil while the file is read, or a rate limit is waited for, or nothing is sent.
    var idleSince: Instant?
    var stop: StopSignal?
    /// Whether the attempt was stopped because the connection took nothing.
    var hasStalled = false
    var isClosed = false
  }

  private let context: RunContext
  private let length: Int64
  private let state = NIOLockedValueBox(State())

  init(_ context: RunContext, length: Int64) {
    self.context = context
    self.length = length
  }

  /// The bytes of this request's body that the connection has taken.
  var sent: Int64 { state.withLockedValue { $0.sent } }
  /// Whether the connection took nothing for too long.
  var hasStalled: Bool { state.withLockedValue { $0.hasStalled } }
  /// The bytes of all attempts.
  var sentInAll: Int64 { state.withLockedValue { $0.sentInAll } }

  /// A request begins, with these bytes of the file.
  /// - Parameter stop: called if the connection takes nothing for too long.
  func begin(at start: Int64, count: Int64, _ stop: StopSignal) {
    let now = context.engine.clock.now
    state.withLockedValue { state in
      (state.start, state.count) = (start, count)
      (state.sent, state.idleSince, state.stop) = (0, now, stop)
      state.hasStalled = false
    }
  }

  /// The request has ended.
  func end() { state.withLockedValue { ($0.idleSince, $0.stop) = (nil, nil) } }

  /// The next bytes are being read.
  func beginRead() { state.withLockedValue { $0.idleSince = nil } }

  /// The connection takes these bytes.
  func take(_ count: Int) {
    let now = context.engine.clock.now
    let isFirst = state.withLockedValue { state in
      state.sent += Int64(count)
      state.sentInAll += Int64(count)
      state.idleSince = now
      return state.sentInAll == Int64(count)
    }
    if isFirst { emit(.phase(.transferring, reason: nil)) }
  }

  /// Emits the progress; and stops the attempt if the connection takes nothing for too long.
  func tick() -> Bool {
    let engine = context.engine
    let now = engine.clock.now
    let (progress, stalled, isOpen) = state.withLockedValue { state in
      state.meter.note(state.sentInAll, at: now)
      let progress = TransferProgress(
        bytes: state.start + state.sent, total: length, rate: state.meter.rate, connections: 1)
      let hasWholeFile = state.count > 0 && state.sent == state.count
      let limit = hasWholeFile ? max(engine.idleTimeout, Self.patience) : engine.idleTimeout
      if state.idleSince.map({ now - $0 >= limit }) ?? false { state.hasStalled = true }
      return (progress, state.hasStalled ? state.stop : nil, !state.isClosed)
    }
    stalled?.stop()
    if isOpen, progress.bytes > 0 {
      engine.hub.emit(progress: progress, of: context.id, context.identity)
    }
    return isOpen
  }

  /// How long a server may take to answer once it has the whole file: it may check or copy it.
  private static let patience: Duration = .seconds(300)

  /// No more ticks are wanted.
  func close() { state.withLockedValue { $0.isClosed = true } }

  private func emit(_ kind: TransferEvent.Kind) {
    context.engine.hub.emit(kind, of: context.id, context.identity)
  }
}
