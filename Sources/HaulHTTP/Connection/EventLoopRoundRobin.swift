import HaulCore
import NIOConcurrencyHelpers

/// Chooses the event loop that sends a request and has its new connection.
struct EventLoopRoundRobin: Sendable {
  private let turn = NIOLockedValueBox(0)

  /// The caller's own loop, if it runs on one; the next loop in turn for each additional connection
  /// of a transfer.
  func executor(for request: FetchRequest) -> LoopExecutor? {
    let all = LoopExecutor.all
    if !request.isAdditional {
      let current = withUnsafeCurrentTask { $0?.unownedTaskExecutor }
      if let own = all.first(where: { $0.asUnownedTaskExecutor() == current }) { return own }
    }
    let turn = turn.withLockedValue { turn in
      turn = (turn + 1) % max(all.count, 1)
      return turn
    }
    return all.indices.contains(turn) ? all[turn] : nil
  }
}
