import AsyncHTTPClient
import HaulCore
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix

/// One request that no task waits for. A short body is collected on the loop of the connection, without a change of tasks;
/// a longer one, or one that does not come at once, is streamed.
final class SentRequest: FetchHandle {
  typealias Told = @Sendable (SentRequest, Result<Answer, any Error>) -> Void

  private enum Phase {
    case waiting
    case collecting(HTTPResponseHead, ByteBuffer)
    case streaming(BodySource)
    case over
  }

  private struct State {
    var phase = Phase.waiting
    var task: HTTPClient.Task<Void>?
    /// What goes on with the request where this ended.
    var rest: Task<Void, Never>?
    var headTimer: NIOScheduledCallback?
    var wasSent = false
    var isCancelled = false
    /// Nil once it was told.
    var told: Told?
  }

  /// As much is collected; many transfers hold so much at the same time.
  private static let longestCollected = 128 << 10
  /// How long a short body may take.
  private static let patience: TimeAmount = .milliseconds(50)

  private let state: NIOLockedValueBox<State>
  private let origin: ResourceURL.Origin

  init(from origin: ResourceURL.Origin, _ told: @escaping Told) {
    self.origin = origin
    state = NIOLockedValueBox(State(told: told))
  }

  /// A connection that is made for the request lives on the loop that this is called on.
  func start(_ message: HTTPClient.Request, with client: HTTPClient, headTimeout: TimeAmount) {
    let loop = MultiThreadedEventLoopGroup.singleton.any()
    let timer = try? loop.scheduleCallback(in: headTimeout, handler: self)  // fails at its shutdown
    state.withLockedValue { $0.headTimer = timer }
    let task = client.execute(request: message, delegate: self, eventLoop: .delegate(on: loop))
    let isCancelled = state.withLockedValue { state in
      if case .over = state.phase {} else { state.task = task }
      return state.isCancelled
    }
    if isCancelled { task.fail(reason: CancellationError()) }
  }

  func cancel() {
    let (task, rest) = state.withLockedValue { state in
      state.isCancelled = true
      return (state.told == nil ? nil : state.task, state.rest)
    }
    task?.fail(reason: CancellationError())
    rest?.cancel()
  }

  /// What follows a redirect, or a failure.
  func goOn(on executor: LoopExecutor?, _ work: @escaping @Sendable () async -> Void) {
    let task = Task(executorPreference: executor) { await work() }
    let isCancelled = state.withLockedValue { state in
      state.rest = task
      return state.isCancelled
    }
    if isCancelled { task.cancel() }
  }

  private func isLate() {
    let (task, wasSent) = state.withLockedValue { state in
      guard case .waiting = state.phase else { return (nil as HTTPClient.Task<Void>?, false) }
      return (state.task, state.wasSent)
    }
    // As the client tells the two apart: one that no connection was found for may be sent another way.
    task?.fail(
      reason: wasSent
        ? HTTPClientError.deadlineExceeded : HTTPClientError.getConnectionFromPoolTimeout)
  }

  private func tell(_ result: Result<Answer, any Error>) {
    let told = state.withLockedValue { state in
      defer { state.told = nil }
      return state.told
    }
    told?(self, result)
  }

  /// Has what was collected be the beginning of a stream.
  private func handOver() {
    let collected = state.withLockedValue { state -> (HTTPResponseHead, ByteBuffer)? in
      guard case .collecting(let head, let bytes) = state.phase else { return nil }
      return (head, bytes)
    }
    guard let (head, bytes) = collected else { return }
    let (source, body) = stream()
    if bytes.readableBytes > 0 { source.add(bytes) }
    tell(.success(Answer(head, body: ResponseBodySequence(body, from: origin))))
  }

  private func stream() -> (BodySource, BodySource.Producer) {
    let (source, body) = BodySource.make { [weak self] in self?.abandon() }
    state.withLockedValue { $0.phase = .streaming(source) }
    return (source, body)
  }

  private func abandon() {
    state.withLockedValue { $0.task }?.fail(reason: CancellationError())
  }

  private func end() -> Phase {
    state.withLockedValue { state in
      defer { (state.phase, state.task) = (.over, nil) }
      return state.phase
    }
  }
}

extension SentRequest: NIOScheduledCallbackHandler {
  /// By way of another thread: a loop that was held up reads what has come meanwhile first.
  func handleScheduledCallback(eventLoop: some EventLoop) { Task { isLate() } }
}

/// Called on one event loop.
extension SentRequest: HTTPClientResponseDelegate {
  typealias Response = Void

  func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
    state.withLockedValue { $0.wasSent = true }
  }

  func didReceiveHead(
    task: HTTPClient.Task<Void>, _ head: HTTPResponseHead
  ) -> EventLoopFuture<Void> {
    let length = head.headers.first(name: "Content-Length").flatMap { Int($0) }
    let isShort = length.map { (0...Self.longestCollected).contains($0) } ?? false
    let room = ByteBufferAllocator().buffer(capacity: isShort ? length ?? 0 : 0)
    let timer = state.withLockedValue { state in
      defer { state.headTimer = nil }
      state.phase = .collecting(head, room)
      return state.headTimer
    }
    timer?.cancel()
    if isShort {
      // What has come together with the head is passed on before.
      task.eventLoop.execute { [weak self] in self?.waitShortly(on: task.eventLoop) }
    } else {
      handOver()
    }
    return task.eventLoop.makeSucceededVoidFuture()
  }

  private func waitShortly(on loop: any EventLoop) {
    let isCollecting = state.withLockedValue { state in
      if case .collecting = state.phase { true } else { false }
    }
    guard isCollecting else { return }
    loop.scheduleTask(in: Self.patience) { [weak self] in self?.handOver() }
  }

  func didReceiveBodyPart(
    task: HTTPClient.Task<Void>, _ buffer: ByteBuffer
  ) -> EventLoopFuture<Void> {
    let source = state.withLockedValue { state -> BodySource? in
      switch state.phase {
      case .streaming(let source): return source
      case .collecting(let head, var bytes):
        state.phase = .over
        // A copy, as the buffer is a small part of a large one, which is to be read into again.
        bytes.writeImmutableBuffer(buffer)
        state.phase = .collecting(head, bytes)
        return nil
      case .waiting, .over: return nil
      }
    }
    return source?.pass(buffer, on: task.eventLoop) ?? task.eventLoop.makeSucceededVoidFuture()
  }

  func didFinishRequest(task: HTTPClient.Task<Void>) {
    switch end() {
    case .collecting(let head, let bytes):
      let chunks = bytes.readableBytes > 0 ? [bytes] : []
      tell(.success(Answer(head, body: CollectedBody(chunks: chunks), collected: chunks)))
    case .streaming(let source): source.finish(nil)
    case .waiting, .over: break
    }
  }

  func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
    // What came before is worth being written.
    handOver()
    let timer = state.withLockedValue { $0.headTimer }
    timer?.cancel()
    switch end() {
    case .streaming(let source): source.finish(error)
    case .waiting, .collecting: tell(.failure(error))
    case .over: break
    }
  }
}
