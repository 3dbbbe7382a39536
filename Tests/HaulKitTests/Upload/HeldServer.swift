import HaulCore
import NIOConcurrencyHelpers

/// A server of uploads that answers each request when the test says so.
final class HeldServer: Transport {
  private struct State {
    var open: [String: AsyncStream<Int>.Continuation] = [:]
    var mostOpen = 0
    var asked: [String] = []
  }

  private let state = NIOLockedValueBox(State())

  /// The paths of the requests that have no answer yet.
  var open: [String] { state.withLockedValue { $0.open.keys.sorted() } }
  /// The most of them so far.
  var mostOpen: Int { state.withLockedValue { $0.mostOpen } }
  /// The paths of all requests, in order.
  var asked: [String] { state.withLockedValue { $0.asked } }

  /// Answers the open request to this path.
  func answer(_ path: String, _ status: Int = 201) {
    state.withLockedValue { $0.open[path] }?.yield(status)
  }

  func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    throw TransferError(.notYetSupported, "this server only takes uploads")
  }

  func send(_ request: SendRequest) async throws -> SendResponse {
    // It does not say what it has.
    guard request.method != "HEAD" else {
      return SendResponse(
        head: ResponseHead(status: 405, headers: HeaderFields(), url: request.url))
    }
    if let body = request.body { for try await _ in body {} }
    let path = request.url.path
    let (answers, continuation) = AsyncStream<Int>.makeStream()
    state.withLockedValue { state in
      state.asked.append(path)
      state.open[path] = continuation
      state.mostOpen = max(state.mostOpen, state.open.count)
    }
    defer { state.withLockedValue { $0.open[path] = nil } }
    for await status in answers {
      return SendResponse(
        head: ResponseHead(status: status, headers: HeaderFields(), url: request.url))
    }
    throw CancellationError()
  }
}
