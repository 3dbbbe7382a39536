import NIOConcurrencyHelpers

/// Requests that wait for each other: none goes on before so many have come, then all do. A test
/// of what is done at once needs it: on a busy machine each may have its answer before the next.
final class RequestBarrier: Sendable {
  private struct State {
    var missing: Int
    var waiting: [AsyncStream<Never>.Continuation] = []
  }

  private let method: String
  private let state: NIOLockedValueBox<State>

  /// - Parameter method: the requests that wait; others pass.
  init(of count: Int, _ method: String) {
    self.method = method
    state = NIOLockedValueBox(State(missing: count))
  }

  func wait(_ method: String) async {
    guard method == self.method else { return }
    let (opening, own) = AsyncStream<Never>.makeStream()
    let free = state.withLockedValue { state in
      state.missing -= 1
      state.waiting.append(own)
      guard state.missing <= 0 else { return [AsyncStream<Never>.Continuation]() }
      defer { state.waiting = [] }
      return state.waiting
    }
    for one in free { one.finish() }
    for await _ in opening {}
  }
}
