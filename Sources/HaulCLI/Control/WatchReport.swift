package import HaulControl
package import HaulCore

/// The live view of the queue: turns the daemon's messages into lines and progress bars.
package struct WatchReport: Sendable {
  /// Which transfers to watch.
  package enum Scope: Hashable, Sendable {
    case all
    case ids(Set<TransferID>)
    case group(String)

    fileprivate func contains(_ id: TransferID, _ group: String?) -> Bool {
      switch self {
      case .all: true
      case .ids(let ids): ids.contains(id)
      case .group(let name): group == name
      }
    }
  }

  private let scope: Scope
  private let json: Bool
  private var transfers: [TransferDocument] = []
  private var indices: [TransferID: Int] = [:]
  private var retries: [TransferID: FileProgress.Retry] = [:]
  private var connections: [TransferID: Int] = [:]
  private var jsonLines = JSONLines()
  /// With `json`, those whose state is the next line about them, because no event has it.
  private var changed: Set<TransferID> = []
  /// Those whose end is known by the state that they were shown with, or by the event. A state may
  /// come before the event of its change.
  private var told: Set<TransferID> = []
  /// The paused ones of the whole list, and what others of it wait for.
  private var paused: Set<TransferID> = []
  private var dependencies: [TransferID: TransferID] = [:]
  /// Whether one was removed before it was completed.
  private var hasRemoved = false
  /// Whether the whole list is known.
  private var isReady = false
  /// Since the view began.
  package var elapsed: Duration = .zero

  package init(_ scope: Scope, json: Bool) { (self.scope, self.json) = (scope, json) }

  /// Handles one message.
  /// - Parameter wallSeconds: seconds since 1970, for the JSON lines.
  /// - Returns: lines for a person, or JSON lines.
  package mutating func handle(
    _ message: StreamMessage, wallSeconds: Double = 0
  ) throws -> [String] {
    switch message {
    case .reset:
      (transfers, indices, retries, connections, isReady) = ([], [:], [:], [:], false)
      (paused, dependencies, changed, told) = ([], [:], [], [])
    case .ready: isReady = true
    case .transfer(let transfer):
      if transfer.state == .paused {
        paused.insert(transfer.id)
      } else {
        paused.remove(transfer.id)
      }
      dependencies[transfer.id] = transfer.waiting?.transfer
      guard scope.contains(transfer.id, transfer.group) else { return [] }
      if let index = indices[transfer.id] {
        transfers[index] = transfer
      } else {
        indices[transfer.id] = transfers.count
        transfers.append(transfer)
      }
      let isShown = changed.remove(transfer.id) != nil || !isReady
      if !transfer.state.isEnded {
        told.remove(transfer.id)
      } else if isShown {
        told.insert(transfer.id)
      }
      if json, isShown {
        return [try jsonLines.line(.transfer(transfer), wallSeconds: wallSeconds)]
      }
    case .event(let event):
      if event.type == .removed {
        paused.remove(event.id)
        dependencies[event.id] = nil
      }
      guard scope.contains(event.id, event.group) else { return [] }
      note(event)
      if json { return [try jsonLines.line(.event(event, index: nil), wallSeconds: wallSeconds)] }
      return line(for: event).map { [Messages.shown($0)] } ?? []
    }
    return []
  }

  private mutating func note(_ event: EventDocument) {
    switch event.kind {
    case .attempt(_, let error, let delay)?:
      retries[event.id] = FileProgress.Retry(end: elapsed + delay, reason: ": \(error.message)")
    case .removed?:
      guard let index = indices.removeValue(forKey: event.id) else { return }
      if transfers[index].state != .completed { hasRemoved = true }
      transfers.remove(at: index)
      for (id, other) in indices where other > index { indices[id] = other - 1 }
    case .progress(let progress)?: connections[event.id] = progress.connections
    case .finished?:
      told.insert(event.id)
      retries[event.id] = nil
    case nil where event.type == .changed: changed.insert(event.id)
    case .added?, .target?, .phase?, .waiting?, .paused?, .resumed?, .limited?, .connections?,
      .moved?, .snapshot?, nil:
      retries[event.id] = nil
    }
  }

  private func line(for event: EventDocument) -> String? {
    let name = indices[event.id].map { transfers[$0].name } ?? event.url ?? "\(event.id)"
    switch event.kind {
    case .paused?: return "\(name): paused"
    case .resumed?: return "\(name): resumed"
    case .removed?: return "\(name): removed"
    case .attempt(_, let error, _)?: return "\(name): \(error.message); retrying"
    case .finished(let result)?:
      switch result.state {
      case .completed:
        let warning = result.warning.map { "; warning: \($0.text)" } ?? ""
        let adopted = result.isAdopted ? ", published by another run" : ""
        return "\(result.path ?? name): complete, \(Units.bytes(result.bytes))\(adopted)\(warning)"
      case .failed: return "\(name): failed: \(result.error?.message ?? "for an unknown reason")"
      case .cancelled: return "\(name): cancelled"
      }
    case .added?, .target?, .phase?, .waiting?, .progress?, .limited?, .connections?, .moved?,
      .snapshot?, nil:
      return nil
    }
  }
}

extension WatchReport {
  private func file(_ transfer: TransferDocument) -> FileProgress {
    let isKnown = transfer.bytes > 0 || transfer.total != nil
    let phase = transfer.phase.flatMap(TransferEvent.Phase.init) ?? .running
    return FileProgress(
      name: transfer.name, phase: transfer.state == .running ? phase : nil,
      progress: isKnown
        ? TransferProgress(
          bytes: transfer.bytes, total: transfer.total, rate: transfer.rate,
          connections: connections[transfer.id] ?? 0) : nil,
      hasEnded: transfer.state.isEnded, retry: retries[transfer.id])
  }

  /// What the bars show.
  package var model: ProgressModel {
    var model = ProgressModel(
      transfers.map(file), expected: transfers.count)
    model.elapsed = elapsed
    return model
  }

  /// Whether a bar changes as time passes.
  package var isCountingDown: Bool { !retries.isEmpty }

  /// Lines about what is running, where there are no bars.
  package var running: [String] {
    transfers.filter { $0.state == .running }.compactMap {
      Messages.progress(file($0), at: elapsed)
    }
  }

  /// The status to exit with, once nothing changes without a command; nil before.
  package var end: ExitStatus? {
    guard isReady, transfers.allSatisfy(isSettled) else { return nil }
    let ends = transfers.map { $0.restingState ?? $0.state.rawValue }
    if ends.contains(TransferState.failed.rawValue) { return .failed }
    let areCompleted = ends.allSatisfy { $0 == TransferState.completed.rawValue }
    return !hasRemoved && areCompleted ? .completed : .stopped
  }

  /// Whether it does not change without a command.
  private func isSettled(_ transfer: TransferDocument) -> Bool {
    if transfer.state.isEnded { return told.contains(transfer.id) }
    if transfer.waiting?.isBlocked == true || transfer.restingState != nil { return true }
    if transfer.waiting?.reason == .credentialsRefused { return true }
    var (next, seen) = (Optional(transfer.id), Set<TransferID>())
    while let id = next, seen.insert(id).inserted {
      if paused.contains(id) { return true }
      next = dependencies[id]
    }
    return false
  }

  /// The last line.
  package var summary: String {
    let parts = TransferState.allCases.compactMap { state -> String? in
      let count = transfers.count { $0.state == state }
      return count > 0 ? "\(Units.count(count)) \(state.rawValue)" : nil
    }
    guard parts.isEmpty else { return "haul: \(parts.joined(separator: ", "))" }
    return scope == .all ? "haul: the list is empty" : "haul: what was watched was removed"
  }
}
