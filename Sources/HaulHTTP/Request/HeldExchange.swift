import AsyncHTTPClient
import HaulCore
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1

/// One request that has no body, or one in memory. No task runs for it: the first bytes of its
/// answer are collected on the event loop of the connection.
final class HeldExchange: HTTPClientResponseDelegate, Sendable {
  typealias Response = Void

  /// The head of an answer, and what explains it. It may be cut off: status and fields decide.
  struct Answer: Sendable {
    let head: HTTPResponseHead
    var body = ByteBuffer()
    var isWhole = false
  }

  private struct State {
    var answer: Answer?
    /// Closes the connection, or stops waiting for one.
    var stop: (@Sendable () -> Void)?
    var timer: Scheduled<Void>?
    var isCancelled = false
    /// Nil before the start, and after the end.
    var waiter: CheckedContinuation<Answer, any Error>?
  }

  private let state = NIOLockedValueBox(State())
  private let method: String
  private let maximumBody: Int
  private let patience: TimeAmount
  private let body: (any HeldBody)?

  /// - Parameter patience: how long the body of the answer is waited for.
  init(_ method: String, _ body: (any HeldBody)?, maximumBody: Int, patience: TimeAmount) {
    (self.method, self.body) = (method, body)
    (self.maximumBody, self.patience) = (maximumBody, patience)
  }

  func perform(
    _ message: HTTPClient.Request, with client: HTTPClient, on loop: any EventLoop
  ) async throws -> Answer {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiter in
        state.withLockedValue { $0.waiter = waiter }
        let task = client.execute(request: message, delegate: self, eventLoop: .delegate(on: loop))
        let isCancelled = state.withLockedValue { state in
          if state.waiter != nil { state.stop = { task.fail(reason: CancellationError()) } }
          return state.isCancelled
        }
        if isCancelled { task.fail(reason: CancellationError()) }
      }
    } onCancel: {
      let stop = state.withLockedValue { state in
        state.isCancelled = true
        return state.stop
      }
      stop?()
    }
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
    if !isWhole { stop?() }
  }

  func didSendRequestPart(task: HTTPClient.Task<Void>, _ part: IOData) { body?.wasTaken() }

  func didReceiveHead(
    task: HTTPClient.Task<Void>, _ head: HTTPResponseHead
  ) -> EventLoopFuture<Void> {
    let loop = task.eventLoop
    // Otherwise nothing comes that could be late.
    let hasBody = method != "HEAD" && head.headers.first(name: "Content-Length") != "0"
    let timer =
      hasBody ? loop.scheduleTask(in: patience) { self.end(nil, isWhole: false) } : nil
    state.withLockedValue { ($0.answer, $0.timer) = (Answer(head: head), timer) }
    return loop.makeSucceededVoidFuture()
  }

  func didReceiveBodyPart(
    task: HTTPClient.Task<Void>, _ buffer: ByteBuffer
  ) -> EventLoopFuture<Void> {
    let isFull = state.withLockedValue { state in
      guard let known = state.answer?.body.readableBytes else { return false }
      let count = min(buffer.readableBytes, maximumBody - known)
      state.answer?.body.writeBytes(buffer.readableBytesView.prefix(count))
      return known + count == maximumBody
    }
    if isFull { end(nil, isWhole: false) }
    return task.eventLoop.makeSucceededVoidFuture()
  }

  func didFinishRequest(task: HTTPClient.Task<Void>) { end(nil, isWhole: true) }

  func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
    end(error, isWhole: false)
  }
}
