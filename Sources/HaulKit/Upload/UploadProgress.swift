import HaulCore
import NIOConcurrencyHelpers

/// How much of a body the connection has taken, and since when it takes nothing.
final class UploadProgress: HeartbeatReceiver {
  /// A request, until its bytes are acknowledged or another one takes its part.
  private struct Request {
    /// The length of its body; of a stream, once its end was sent.
    var count: Int64?
    /// How long the server may take to answer, once it has the body.
    let patience: Duration
    var sent: Int64 = 0
    /// What the request before has sent, if this one only asks about it.
    var kept: Int64 = 0
    /// Nil while the file is read, or a rate limit is waited for, or nothing is sent.
    var idleSince: Instant?
    /// Nil once it has ended.
    var stop: StopSignal?
    /// Why it was stopped, if the connection took nothing for too long.
    var stall: TransferError?
  }

  private struct State {
    /// By the number of their part.
    var requests: [Int: Request] = [:]
    /// The bytes that the server has.
    var acknowledged: Int64 = 0
    /// The bytes of all attempts.
    var sentInAll: Int64 = 0
    /// The length of all that is sent; nil if it is not known.
    var length: Int64?
    var meter = RateMeter()
    var isClosed = false

    /// The bytes that the connections have taken, as far as they are of use.
    var bytes: Int64 { requests.values.reduce(acknowledged) { $0 + $1.sent + $1.kept } }
    var connections: Int { max(1, requests.values.count { $0.stop != nil }) }

    /// Less than all bytes: 100 % is emitted with the end, once the server has confirmed the file.
    var progress: TransferProgress {
      let shown = length.map { min(bytes, max(0, $0 - 1)) } ?? bytes
      return TransferProgress(
        bytes: shown, total: length, rate: meter.rate, connections: connections)
    }
  }

  private let context: RunContext
  private let state: NIOLockedValueBox<State>

  /// - Parameter length: of all that is sent, in bytes; nil if it is not known.
  init(_ context: RunContext, length: Int64?) {
    self.context = context
    state = NIOLockedValueBox(State(length: length))
    context.acknowledged = 0
  }

  /// The length of a stream is known.
  func learn(length: Int64) { state.withLockedValue { $0.length = length } }

  /// The bytes of the body of this part's request that the connection has taken.
  func sent(of part: Int) -> Int64 { state.withLockedValue { $0.requests[part]?.sent ?? 0 } }
  /// Why its request was stopped, if its connection took nothing for too long.
  func stall(of part: Int) -> TransferError? {
    state.withLockedValue { $0.requests[part]?.stall }
  }
  /// The bytes of all attempts.
  var sentInAll: Int64 { state.withLockedValue { $0.sentInAll } }

  /// The request of a message begins, with so many bytes of the file; nil for a stream.
  /// - Parameter stop: called if the connection takes nothing for too long.
  func begin(_ message: UploadMessage, count: Int64?, _ stop: StopSignal) {
    let (now, idleTimeout) = (context.engine.clock.now, context.engine.idleTimeout)
    let patience =
      message.isOptional
      ? min(idleTimeout, Self.patienceForAQuestion)
      : message.takesLong ? max(idleTimeout, Self.patience) : idleTimeout
    state.withLockedValue { state in
      var request = Request(count: count, patience: patience, idleSince: now, stop: stop)
      if count == 0, let before = state.requests[message.part] {
        request.kept = before.sent + before.kept
      }
      state.requests[message.part] = request
    }
  }

  /// The body of a part is sent from its first byte.
  func beginBody(of part: Int) { state.withLockedValue { $0.requests[part]?.sent = 0 } }

  /// The request of a part has ended.
  func end(_ part: Int) {
    state.withLockedValue {
      $0.requests[part]?.idleSince = nil
      $0.requests[part]?.stop = nil
    }
  }

  /// The server has so many bytes: those of the requests that have ended are among them, or lost.
  func acknowledge(_ bytes: Int64) {
    context.acknowledged = bytes
    state.withLockedValue { state in
      state.acknowledged = bytes
      state.requests = state.requests.filter { $0.value.stop != nil }
    }
  }

  /// The next bytes of a part are being read.
  func beginRead(_ part: Int) { state.withLockedValue { $0.requests[part]?.idleSince = nil } }

  /// They were read, and the connection may take them.
  func endRead(_ part: Int) {
    let now = context.engine.clock.now
    state.withLockedValue { $0.requests[part]?.idleSince = now }
  }

  /// The body of a part has no more bytes: its length is known.
  func endBody(of part: Int) {
    let now = context.engine.clock.now
    state.withLockedValue { state in
      guard let sent = state.requests[part]?.sent else { return }
      state.requests[part]?.count = sent
      state.requests[part]?.idleSince = now
    }
  }

  /// The connection takes these bytes.
  func take(_ count: Int, of part: Int) {
    let now = context.engine.clock.now
    let isFirst = state.withLockedValue { state in
      state.requests[part]?.sent += Int64(count)
      state.requests[part]?.idleSince = now
      state.sentInAll += Int64(count)
      return state.sentInAll == Int64(count)
    }
    if isFirst { emit(.phase(.transferring, reason: nil)) }
  }

  /// Emits the progress; and stops a request whose connection takes nothing for too long.
  func tick() -> Bool {
    let (engine, now) = (context.engine, context.engine.clock.now)
    let (stalled, isOpen) = state.withLockedValue { state in
      state.meter.note(state.sentInAll, at: now)
      let progress = state.progress
      if !state.isClosed, progress.bytes > 0 {
        engine.hub.emit(progress: progress, of: context.id, context.identity)
      }
      return (stop(&state, at: now), !state.isClosed)
    }
    for stop in stalled { stop.stop() }
    return isOpen
  }

  /// The requests whose connection takes nothing for too long.
  private func stop(_ state: inout State, at now: Instant) -> [StopSignal] {
    var stalled: [StopSignal] = []
    for (part, request) in state.requests {
      let isWhole = request.sent == request.count
      let limit = isWhole ? request.patience : context.engine.idleTimeout
      guard let stop = request.stop, let since = request.idleSince, now - since >= limit
      else { continue }
      state.requests[part]?.stall = Self.stall(sent: request.sent, isWhole: isWhole, after: limit)
      stalled.append(stop)
    }
    return stalled
  }

  /// How long a server may take to answer once it has the whole file: it may check or copy it.
  private static let patience: Duration = .seconds(300)
  /// How long an answer is waited for that the upload does not need.
  private static let patienceForAQuestion: Duration = .seconds(10)

  private static func stall(sent: Int64, isWhole: Bool, after limit: Duration) -> TransferError {
    let silence =
      !isWhole
      ? "the server took no bytes for \(limit)"
      : sent > 0
        ? "the server has everything, and did not answer for \(limit)"
        : "the server did not answer for \(limit)"
    return TransferError(.stalled, silence, advice: "try again later", isRetryable: true)
  }

  /// No more ticks are wanted.
  func close() { state.withLockedValue { $0.isClosed = true } }

  private func emit(_ kind: TransferEvent.Kind) {
    context.engine.hub.emit(kind, of: context.id, context.identity)
  }
}
