import NIOConcurrencyHelpers

/// Hands the manager's orders to whoever runs at this moment; those that come before anyone does wait.
final class OrderRelay: Sendable {
  typealias Taker = @Sendable (MemberRun.Order) -> Void

  private struct State {
    var taker: Taker?
    var waiting: [MemberRun.Order] = []
  }

  private let state = NIOLockedValueBox(State())

  func send(_ order: MemberRun.Order) {
    // Under the lock, so that orders keep their order: a taker only puts them into an inbox.
    state.withLockedValue { state in
      if let taker = state.taker { taker(order) } else { state.waiting.append(order) }
    }
  }

  func turn(to taker: @escaping Taker) {
    state.withLockedValue { state in
      state.taker = taker
      for order in state.waiting { taker(order) }
      state.waiting = []
    }
  }
}
