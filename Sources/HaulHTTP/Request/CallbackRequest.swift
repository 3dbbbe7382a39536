import AsyncHTTPClient
import HaulCore
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix

/// One request that no task waits for. A short body is collected on the event loop of the
/// connection, without a task switch; a longer or late body is streamed.
final class CallbackRequest: FetchHandle {
  typealias Completion = @Sendable (Result<Answer, any Error>) -> Void
  typealias Stop = @Sendable (any Error) -> Void

  private enum Phase {
    case waiting
    case collecting(HTTPResponseHead, ByteBuffer)
    case streaming(BodySource)
    case over
  }

  private struct State {
    var phase = Phase.waiting
    /// Closes the connection, or stops waiting for one.
    var stop: Stop?
    /// Continues the request after a redirect or a failure.
    var rest: Task<Void, Never>?
    var headTimer: NIOScheduledCallback?
    /// For a body with a length over HTTP/2.
    var unproved: UnprovedBody?
    /// Called if the server violates HTTP/2 when the answer was passed on already.
    var violationHandler: (@Sendable () -> Void)?
    var wasSent = false
    var isCancelled = false
    /// Nil before the start, and after it was called.
    var completionHandler: Completion?

    /// Whether the answer says that its body is empty, and the end has not come.
    var isToBeEmpty: Bool { unproved?.length == 0 }

    /// Keeps the last bytes of a body until its end; false for other bytes.
    mutating func keeps(_ bytes: ByteBuffer) -> Bool {
      guard unproved?.left == 0, bytes.readableBytes > 0 else { return false }
      unproved?.last = bytes
      return true
    }
  }

  /// Only the end of a stream proves the length that its head announces (RFC 9113, section 8.1.1).
  private struct UnprovedBody {
    let length: Int
    /// How many bytes are still to come.
    var left: Int
    /// The last bytes, which are passed on with the end of the stream.
    var last: ByteBuffer?
  }

  /// The most bytes that are collected; many transfers hold that much at the same time.
  private static let maximumCollected = 128 << 10
  /// How long a short body may take.
  private static let bodyWait: TimeAmount = .milliseconds(50)

  private let state: NIOLockedValueBox<State>
  private let origin: ResourceURL.Origin
  /// How many times the usual time its answer may take.
  let patience: Int

  init(from origin: ResourceURL.Origin, patience: Int) {
    (self.origin, self.patience) = (origin, patience)
    state = NIOLockedValueBox(State())
  }

  /// - Parameter completionHandler: called once with the answer, on any thread.
  func setCompletionHandler(_ completionHandler: @escaping Completion) {
    state.withLockedValue { $0.completionHandler = completionHandler }
  }

  /// Sets how to stop the request from now on; stops it at once if it was cancelled.
  func setStopHandler(_ stop: @escaping Stop) {
    let isCancelled = state.withLockedValue { state in
      if case .over = state.phase {} else { state.stop = stop }
      return state.isCancelled
    }
    if isCancelled { stop(CancellationError()) }
  }

  func cancel() {
    let (stop, rest) = state.withLockedValue { state in
      state.isCancelled = true
      return (state.completionHandler == nil ? nil : state.stop, state.rest)
    }
    stop?(CancellationError())
    rest?.cancel()
  }

  /// Continues after a redirect or a failure.
  func continueOn(on executor: LoopExecutor?, _ work: @escaping @Sendable () async -> Void) {
    let task = Task(executorPreference: executor) { await work() }
    let isCancelled = state.withLockedValue { state in
      state.rest = task
      return state.isCancelled
    }
    if isCancelled { task.cancel() }
  }

  /// Gives up unless the header of the answer has arrived. Another thread checks this, so that an
  /// event loop that was blocked first reads what has arrived.
  func giveUpIfUnanswered() { Task { failIfUnanswered() } }

  private func failIfUnanswered() {
    let (stop, wasSent) = state.withLockedValue { state in
      switch state.phase {
      case .waiting: break
      case .collecting where state.isToBeEmpty: break
      case .collecting, .streaming, .over: return (nil as Stop?, false)
      }
      return (state.stop, state.wasSent)
    }
    // The client's own errors: a request without a connection may be sent in another way.
    stop?(
      wasSent ? HTTPClientError.deadlineExceeded : HTTPClientError.getConnectionFromPoolTimeout)
  }

  private func complete(_ result: Result<Answer, any Error>) {
    let completionHandler = state.withLockedValue { state in
      defer { state.completionHandler = nil }
      return state.completionHandler
    }
    completionHandler?(result)
  }

  /// Turns the collected bytes into the beginning of a stream.
  private func startStreaming() {
    let collected = state.withLockedValue { state -> (HTTPResponseHead, ByteBuffer)? in
      guard case .collecting(let head, let bytes) = state.phase else { return nil }
      return (head, bytes)
    }
    guard let (head, bytes) = collected else { return }
    let (source, body) = stream()
    if bytes.readableBytes > 0, !state.withLockedValue({ $0.keeps(bytes) }) { source.add(bytes) }
    complete(.success(Answer(head, body: ResponseBodySequence(body, from: origin))))
  }

  private func stream() -> (BodySource, BodySource.Producer) {
    let (source, body) = BodySource.make { [weak self] in self?.abandon() }
    state.withLockedValue { $0.phase = .streaming(source) }
    return (source, body)
  }

  private func abandon() {
    state.withLockedValue { $0.stop }?(CancellationError())
  }

  private func end() -> (phase: Phase, last: ByteBuffer?) {
    let (phase, last, timer) = state.withLockedValue { state in
      defer { (state.phase, state.stop, state.unproved, state.headTimer) = (.over, nil, nil, nil) }
      return (state.phase, state.unproved?.last, state.headTimer)
    }
    timer?.cancel()
    return (phase, last)
  }
}

extension CallbackRequest: NIOScheduledCallbackHandler {
  func handleScheduledCallback(eventLoop: some EventLoop) { giveUpIfUnanswered() }
}

/// Events from the client that sends the request.
extension CallbackRequest: PlainHTTPExchange {
  var isWanted: Bool {
    state.withLockedValue { state in
      if case .waiting = state.phase { !state.isCancelled } else { false }
    }
  }

  func markSent() { state.withLockedValue { $0.wasSent = true } }

  func received(_ head: HTTPResponseHead) {
    let length = head.headers.first(name: "Content-Length").flatMap { Int($0) }
    let isShort = length.map { (0...Self.maximumCollected).contains($0) } ?? false
    let room = ByteBufferAllocator().buffer(capacity: isShort ? length ?? 0 : 0)
    let (isWanted, timer) = state.withLockedValue { state -> (Bool, NIOScheduledCallback?) in
      guard case .waiting = state.phase else { return (false, state.headTimer) }
      state.phase = .collecting(head, room)
      if head.version.major == 2 {
        state.unproved = length.map { UnprovedBody(length: $0, left: $0) }
      }
      if state.isToBeEmpty { return (true, nil) }
      defer { state.headTimer = nil }
      return (true, state.headTimer)
    }
    timer?.cancel()
    if !(isWanted && isShort) { startStreaming() }
  }

  /// Waits up to 50 ms for the rest of a short body, and then streams it.
  func waitShortly(on loop: any EventLoop) {
    let isCollecting = state.withLockedValue { state in
      if case .collecting = state.phase { !state.isToBeEmpty } else { false }
    }
    guard isCollecting else { return }
    loop.scheduleTask(in: Self.bodyWait) { [weak self] in self?.startStreaming() }
  }

  func received(_ bytes: ByteBuffer, on loop: any EventLoop) -> EventLoopFuture<Void>? {
    let source = state.withLockedValue { state -> BodySource? in
      state.unproved?.left -= bytes.readableBytes
      switch state.phase {
      case .streaming(let source): return state.keeps(bytes) ? nil : source
      case .collecting(let head, var collected):
        state.phase = .over
        // Copied, because the bytes are a small part of a large buffer that is reused for reading.
        collected.writeImmutableBuffer(bytes)
        state.phase = .collecting(head, collected)
        return nil
      case .waiting, .over: return nil
      }
    }
    return source?.pass(bytes, on: loop)
  }

  func ended() {
    let (phase, last) = end()
    switch phase {
    case .collecting(let head, let bytes):
      let chunks: [any ByteChunk] = bytes.readableBytes > 0 ? [bytes] : []
      complete(.success(Answer(head, body: CollectedBody(chunks: chunks), collected: chunks)))
    case .streaming(let source):
      if let last { source.add(last) }
      source.finish(nil)
    case .waiting, .over: break
    }
  }

  func failed(_ error: any Error) {
    let isViolation = UnprocessedRetry(after: error, overHTTP2: true) == .neverHTTP2
    let (isToBeEmpty, whenViolated) = state.withLockedValue {
      ($0.isToBeEmpty, $0.violationHandler)
    }
    // Bytes that arrived before the failure are passed on, unless they are requested again at once.
    if !isViolation, !isToBeEmpty { startStreaming() }
    let (phase, last) = end()
    switch phase {
    case .streaming(let source):
      if isViolation { whenViolated?() } else if let last { source.add(last) }
      source.finish(error)
    case .waiting, .collecting: complete(.failure(error))
    case .over: break
    }
  }
}

/// Sent by AsyncHTTPClient.
extension CallbackRequest: HTTPClientResponseDelegate {
  typealias Response = Void

  /// - Parameters:
  ///   - headTimeout: from now to the head of the answer, or to the end of an empty one.
  ///   - whenViolated: called if the server violates HTTP/2, or wants HTTP/1.1, in the body of the
  ///     answer. Before, the request fails with the error.
  func send(
    _ message: HTTPClient.Request, with client: HTTPClient, on loop: any EventLoop,
    headTimeout: TimeAmount, whenViolated: @escaping @Sendable () -> Void,
    whenOver: @escaping @Sendable () -> Void
  ) {
    guard isWanted else {
      whenOver()
      return failed(CancellationError())
    }
    let timer = try? loop.scheduleCallback(in: headTimeout, handler: self)  // fails at shutdown
    state.withLockedValue { ($0.headTimer, $0.violationHandler) = (timer, whenViolated) }
    let task = client.execute(request: message, delegate: self, eventLoop: .delegate(on: loop))
    task.futureResult.whenComplete { _ in whenOver() }
    setStopHandler { task.fail(reason: $0) }
  }

  func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) { markSent() }

  func didReceiveHead(
    task: HTTPClient.Task<Void>, _ head: HTTPResponseHead
  ) -> EventLoopFuture<Void> {
    received(head)
    let loop = task.eventLoop
    loop.execute { [weak self] in self?.waitShortly(on: loop) }
    return loop.makeSucceededVoidFuture()
  }

  func didReceiveBodyPart(
    task: HTTPClient.Task<Void>, _ buffer: ByteBuffer
  ) -> EventLoopFuture<Void> {
    received(buffer, on: task.eventLoop) ?? task.eventLoop.makeSucceededVoidFuture()
  }

  func didFinishRequest(task: HTTPClient.Task<Void>) { ended() }

  func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) { failed(error) }
}
