import AsyncHTTPClient
import HaulCore
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1

/// One request that has no body, or one in memory. No task runs for it: the first bytes of its
/// answer are collected on the event loop of the connection.
final class HeldExchange: Sendable {
  /// The head of an answer, and what explains it. It may be cut off: status and fields decide.
  struct Answer: Sendable {
    let head: HTTPResponseHead
    var body = ByteBuffer()
    var isWhole = false
  }

  private struct State {
    var answer: Answer?
    /// Closes the connection, or stops waiting for one.
    var stop: CallbackRequest.Stop?
    var timer: Scheduled<Void>?
    var isCancelled = false
    /// Nil before the start, and after the end.
    var waiter: CheckedContinuation<Answer, any Error>?
  }

  private let state = NIOLockedValueBox(State())
  private let method: String
  private let maximumBody: Int
  private let bodyPatience: TimeAmount
  private let body: (any HeldBody)?

  /// - Parameter patience: how long the body of the answer is waited for.
  init(_ method: String, _ body: (any HeldBody)?, maximumBody: Int, patience: TimeAmount) {
    (self.method, self.body) = (method, body)
    (self.maximumBody, bodyPatience) = (maximumBody, patience)
  }

  /// The answer. Cancelling the task closes the connection.
  /// - Parameter start: sends the request with a client, and says how to stop it.
  func perform(_ start: () -> Void) async throws -> Answer {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiter in
        state.withLockedValue { $0.waiter = waiter }
        start()
      }
    } onCancel: {
      let stop = state.withLockedValue { state in
        state.isCancelled = true
        return state.stop
      }
      stop?(CancellationError())
    }
  }

  /// Sets how to stop the request from now on; stops it at once if it was cancelled.
  func setStopHandler(_ stop: @escaping CallbackRequest.Stop) {
    let isCancelled = state.withLockedValue { state in
      if state.waiter != nil { state.stop = stop }
      return state.isCancelled
    }
    if isCancelled { stop(CancellationError()) }
  }

  /// The end, once: what has arrived counts if there is a head.
  private func end(_ error: (any Error)?, isWhole: Bool) {
    let (waiter, answer, stop, timer) = state.withLockedValue { state in
      defer { (state.waiter, state.stop, state.answer, state.timer) = (nil, nil, nil, nil) }
      return (state.waiter, state.answer, state.stop, state.timer)
    }
    timer?.cancel()
    guard let waiter else { return }
    if var answer {
      answer.isWhole = isWhole
      waiter.resume(returning: answer)
    } else {
      waiter.resume(throwing: error ?? HTTPClientError.remoteConnectionClosed)
    }
    // Closes the connection of an answer that is not read to its end.
    if !isWhole { stop?(CancellationError()) }
  }

  /// Waits for the body of the answer, unless there is none: then nothing comes that could be late.
  private func limitBody(on loop: any EventLoop) {
    let head = state.withLockedValue { $0.answer?.head }
    guard method != "HEAD", let head, head.headers.first(name: "Content-Length") != "0" else {
      return
    }
    let timer = loop.scheduleTask(in: bodyPatience) { self.end(nil, isWhole: false) }
    state.withLockedValue { $0.timer = timer }
  }

  /// Collects what explains the answer, and ends once it has enough.
  private func collect(_ bytes: ByteBuffer) {
    let isFull = state.withLockedValue { state in
      guard let known = state.answer?.body.readableBytes else { return false }
      let count = min(bytes.readableBytes, maximumBody - known)
      state.answer?.body.writeBytes(bytes.readableBytesView.prefix(count))
      return known + count == maximumBody
    }
    if isFull { end(nil, isWhole: false) }
  }
}

/// Sent by `PlainHTTPClient`.
extension HeldExchange: PlainHTTPExchange {
  var isWanted: Bool { state.withLockedValue { $0.waiter != nil && !$0.isCancelled } }

  /// The driver of the upload limits the time to the head.
  var patience: Int { 1 }

  func giveUpIfUnanswered() {}

  func markSent() { body?.wasTaken() }

  func received(_ head: HTTPResponseHead) {
    state.withLockedValue { $0.answer = Answer(head: head) }
  }

  func waitShortly(on loop: any EventLoop) { limitBody(on: loop) }

  func received(_ bytes: ByteBuffer, on loop: any EventLoop) -> EventLoopFuture<Void>? {
    collect(bytes)
    return nil
  }

  func ended() { end(nil, isWhole: true) }

  func failed(_ error: any Error) { end(error, isWhole: false) }
}

/// Sent by AsyncHTTPClient.
extension HeldExchange: HTTPClientResponseDelegate {
  typealias Response = Void

  func send(_ message: HTTPClient.Request, with client: HTTPClient, on loop: any EventLoop) {
    let task = client.execute(request: message, delegate: self, eventLoop: .delegate(on: loop))
    setStopHandler { task.fail(reason: $0) }
  }

  func didSendRequestPart(task: HTTPClient.Task<Void>, _ part: IOData) { markSent() }

  func didReceiveHead(
    task: HTTPClient.Task<Void>, _ head: HTTPResponseHead
  ) -> EventLoopFuture<Void> {
    received(head)
    limitBody(on: task.eventLoop)
    return task.eventLoop.makeSucceededVoidFuture()
  }

  func didReceiveBodyPart(
    task: HTTPClient.Task<Void>, _ buffer: ByteBuffer
  ) -> EventLoopFuture<Void> {
    collect(buffer)
    return task.eventLoop.makeSucceededVoidFuture()
  }

  func didFinishRequest(task: HTTPClient.Task<Void>) { ended() }

  func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) { failed(error) }
}
