import DequeModule
import NIOConcurrencyHelpers

/// Runs bodies one at a time, in order of arrival, even when a body suspends its actor.
final class AsyncMutex: Sendable {
  private struct State {
    var isTaken = false
    var waiting: Deque<CheckedContinuation<Void, Never>> = []

    /// Takes the mutex if it is free; returns whether it was.
    mutating func take() -> Bool {
      defer { isTaken = true }
      return !isTaken
    }
  }

  private let state = NIOLockedValueBox(State())

  func run<Result, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    await enter()
    defer { leave() }
    return try await body()
  }

  private func enter() async {
    if state.withLockedValue({ $0.take() }) { return }
    await withCheckedContinuation { continuation in
      let isMine = state.withLockedValue { state in
        if state.take() { return true }
        state.waiting.append(continuation)
        return false
      }
      if isMine { continuation.resume() }
    }
  }

  private func leave() {
    let next = state.withLockedValue { state in
      let next = state.waiting.popFirst()
      state.isTaken = next != nil
      return next
    }
    next?.resume()
  }
}
