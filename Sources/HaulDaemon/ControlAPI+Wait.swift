import HaulControl
import HaulCore
import HaulKit
import Hummingbird
import NIOConcurrencyHelpers
import ServiceLifecycle

/// Waits until transfers have ended or were stopped.
extension ControlAPI {
  /// The longest wait of one call; the client asks again.
  private static let longestWait: Duration = .seconds(20)

  /// What one call waits for.
  private struct Awaited: Sendable {
    var ids: [TransferID]
    /// Those that were completed: they may be removed before the end of the wait.
    var completed: Set<TransferID> = []
  }

  private typealias AwaitedBox = NIOLockedValueBox<Awaited>

  func wait(for selection: Selection) async throws -> WaitResponse {
    // Subscribed first, so that no change is missed.
    let events = manager.events()
    let awaited = AwaitedBox(Awaited(ids: try await ids(of: selection)))
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await untilSettled(awaited, selection, events) }
      // Both end early when they are cancelled.
      group.addTask { try? await Task.sleep(for: Self.longestWait) }
      group.addTask { try? await gracefulShutdown() }
      await group.next()
      group.cancelAll()
    }
    // A token may have been renewed since it was read: what it releases goes on.
    await manager.coordinator.checkCredentials()
    let (ids, completed) = awaited.withLockedValue { ($0.ids, $0.completed) }
    let summaries = await manager.summaries(of: .ids(ids))
    let present = Set(summaries.map(\.id))
    let pending = await unsettled(ids, awaited)
    let lastRuns = await lastRuns(summaries)
    var answer = WaitResponse(isSettled: pending.isEmpty, ids: summaries.map(\.id))
    for summary in summaries {
      switch lastRuns[summary.id] ?? summary.state {
      case .completed: answer.completed += 1
      case .failed: answer.failed += 1
      case .cancelled: answer.cancelled += 1
      default: if !pending.contains(summary.id) { answer.paused += 1 }
      }
    }
    if answer.isSettled {
      let completed = summaries.filter { $0.state == .completed }.suffix(Self.mostWarnings)
      answer.warnings = try await warnings(of: completed.map(\.id))
    }
    for id in ids where !present.contains(id) {
      if completed.contains(id) { answer.completed += 1 } else { answer.removed += 1 }
    }
    return answer
  }

  private static let mostWarnings = 1000

  private func warnings(of ids: [TransferID]) async throws(TransferError) -> [String] {
    try await manager.coordinator.views(of: ids).compactMap { view in
      (view.snapshot.result?.warning).map { "\(view.row.name): warning: \($0.text)" }
    }
  }

  private func untilSettled(
    _ awaited: AwaitedBox, _ selection: Selection, _ events: TransferEvents
  ) async {
    var pending = await unsettled(awaited.withLockedValue { $0.ids }, awaited)
    while !Task.isCancelled {
      if pending.isEmpty {
        let new = await newMembers(of: selection, awaited)
        guard !new.isEmpty else { return }
        pending = await unsettled(new, awaited)
        continue
      }
      let changed = await events.next(atMost: 256)
      guard !changed.isEmpty else { return }
      note(changed, awaited)
      let affected = Set(changed.lazy.filter(\.kind.changesState).map(\.id)).intersection(pending)
      guard !affected.isEmpty else { continue }
      pending = pending.subtracting(affected).union(await unsettled(Array(affected), awaited))
    }
  }

  /// Members that a group, or the list, has got meanwhile.
  private func newMembers(
    of selection: Selection, _ awaited: AwaitedBox
  ) async -> [TransferID] {
    // Only a name of one transfer can be wrong.
    guard selection.ids == nil, let members = try? await ids(of: selection) else { return [] }
    return awaited.withLockedValue { awaited in
      let known = Set(awaited.ids)
      let new = members.filter { !known.contains($0) }
      awaited.ids += new
      return new
    }
  }

  private func note(_ events: [TransferEvent], _ awaited: AwaitedBox) {
    awaited.withLockedValue { awaited in
      for event in events {
        guard case .finished(let result) = event.kind else { continue }
        if result.state == .completed {
          awaited.completed.insert(event.id)
        } else {
          awaited.completed.remove(event.id)
        }
      }
    }
  }

  private func unsettled(
    _ ids: [TransferID], _ awaited: AwaitedBox
  ) async -> Set<TransferID> {
    let summaries = await manager.summaries(of: .ids(ids))
    let completed = summaries.lazy.filter { $0.state == .completed }.map(\.id)
    awaited.withLockedValue { $0.completed.formUnion(completed) }
    let resting = await lastRuns(summaries)
    let pending = summaries.lazy.filter { !$0.isSettled && resting[$0.id] == nil }.map(\.id)
    // Those that must wait for a paused one do not change without a command either.
    return Set(pending).subtracting(await manager.coordinator.waitingForPaused(Array(pending)))
  }
}

extension ControlAPI {
  /// How the last runs ended of those that repeat, and wait for their next ones.
  private func lastRuns(_ summaries: [TransferSummary]) async -> [TransferID: TransferState] {
    let waiting = summaries.filter { summary in
      guard case .startTime? = summary.waitReason else { return false }
      return summary.state == .queued
    }.map(\.id)
    guard !waiting.isEmpty else { return [:] }
    // If they cannot be read, the caller waits for another run.
    let views = (try? await manager.coordinator.views(of: waiting)) ?? []
    var states: [TransferID: TransferState] = [:]
    for view in views where view.snapshot.state == .queued {
      switch view.lastRun?.result.state {
      case .completed?: states[view.row.id] = .completed
      case .failed?: states[view.row.id] = .failed
      case .cancelled?, nil: continue
      }
    }
    return states
  }
}

extension TransferSummary {
  /// Whether it does not change without a command.
  fileprivate var isSettled: Bool {
    switch waitReason {
    case .dependency(_, isBlocked: true), .credentialsRefused: return true
    default: return state.isEnded || state == .paused
    }
  }
}

extension TransferEvent.Kind {
  fileprivate var changesState: Bool {
    if case .progress = self { false } else { true }
  }
}
