import HaulControl
import HaulCore
import HaulKit
import Hummingbird
import ServiceLifecycle

/// Waits until transfers have ended or were stopped.
extension ControlAPI {
  /// The longest wait of one call; the client asks again.
  private static let longestWait: Duration = .seconds(20)

  func wait(for ids: [TransferID]) async -> WaitAnswer {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await untilSettled(ids) }
      // Both end early when they are cancelled.
      group.addTask { try? await Task.sleep(for: Self.longestWait) }
      group.addTask { try? await gracefulShutdown() }
      await group.next()
      group.cancelAll()
    }
    let summaries = await manager.summaries(of: .ids(ids))
    var answer = WaitAnswer(isSettled: summaries.allSatisfy(\.isSettled))
    for summary in summaries {
      switch summary.state {
      case .completed: answer.completed += 1
      case .failed: answer.failed += 1
      case .cancelled: answer.cancelled += 1
      default: if summary.isSettled { answer.paused += 1 }
      }
    }
    return answer
  }

  private func untilSettled(_ ids: [TransferID]) async {
    // Subscribed first, so that no change is missed.
    let events = manager.events()
    var pending = await unsettled(ids)
    while !pending.isEmpty {
      let changed = await events.next(atMost: 256)
      guard !changed.isEmpty else { return }
      let affected = Set(changed.lazy.filter(\.kind.changesState).map(\.id)).intersection(pending)
      guard !affected.isEmpty else { continue }
      pending = pending.subtracting(affected).union(await unsettled(Array(affected)))
    }
  }

  private func unsettled(_ ids: [TransferID]) async -> Set<TransferID> {
    Set(await manager.summaries(of: .ids(ids)).filter { !$0.isSettled }.map(\.id))
  }
}

extension TransferSummary {
  /// Whether it does not change without a command.
  fileprivate var isSettled: Bool {
    if case .dependency(_, isBlocked: true) = waitReason { return true }
    return state.isEnded || state == .paused
  }
}

extension TransferEvent.Kind {
  fileprivate var changesState: Bool {
    if case .progress = self { false } else { true }
  }
}
