import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// The visible state of a list at one moment.
struct VisibleListState: Equatable, Sendable {
  /// In the order of the list.
  var summaries: [TransferSummary] = []
  var counts: [TransferState: Int] = [:]
  /// The numbers of members, and of completed, failed and cancelled ones, of each group.
  var groups: [String: [Int]] = [:]
  var identifiers: [String: TransferID] = [:]
  /// The members that were stored as running.
  private var running: Set<TransferID> = []

  /// From a manager.
  init(_ manager: TransferManager, _ groups: [String], _ identifiers: [String]) async throws {
    summaries = await manager.summaries()
    counts = await manager.counts
    for name in groups {
      let counts = await manager.group(name).counts
      self.groups[name] = [counts.members, counts.completed, counts.failed, counts.cancelled]
    }
    for name in identifiers {
      self.identifiers[name] = try await manager.transfer(identifier: name)?.id
    }
  }

  /// From a stored list, as the next program would find it.
  init(stored: StoredQueue, _ groups: [String], _ identifiers: [String]) {
    let queue = QueueMachine(stored)
    for listed in stored.members {
      guard let member = queue.members[listed.id] else { continue }
      // In a newly opened queue, nothing runs.
      let isRunning = member.state == .queued && listed.storedState.wasRunning
      summaries.append(TransferSummary(member, waitReason: nil))
      let state: TransferState = isRunning ? .running : TransferState(member)
      counts[state, default: 0] += 1
      if isRunning { running.insert(listed.id) }
    }
    for name in groups {
      let counts = queue.groups.counts(of: name)
      self.groups[name] = [
        counts?.members ?? 0, counts?.completed ?? 0, counts?.failed ?? 0, counts?.cancelled ?? 0,
      ]
    }
    for name in identifiers { self.identifiers[name] = queue.id(of: name) }
  }

  /// What a list in memory has and the store does not, or the reverse, in words.
  func differences(from stored: VisibleListState) -> [String] {
    var found: [String] = []
    var counts = counts
    for summary in summaries where runs(summary, stored) {
      counts[summary.state, default: 0] -= 1
      counts[.running, default: 0] += 1
    }
    if counts.filter({ $0.value != 0 }) != stored.counts {
      found.append("counts \(counts), stored \(stored.counts)")
    }
    let lines = summaries.map { stored.line($0) }
    let storedLines = stored.summaries.map { stored.line($0) }
    if lines != storedLines { found.append("\(lines), stored \(storedLines)") }
    if groups != stored.groups { found.append("groups \(groups), stored \(stored.groups)") }
    if identifiers != stored.identifiers { found.append("identifiers differ") }
    return found
  }

  /// Whether the store has a member as running that gave up its slot, or stops to be requeued.
  private func runs(_ summary: TransferSummary, _ stored: VisibleListState) -> Bool {
    stored.running.contains(summary.id)
      && [.queued, .publishing, .stopping].contains(summary.state)
  }

  /// One member in words; `self` knows whether it runs.
  private func line(_ summary: TransferSummary) -> String {
    let state = runs(summary, self) ? TransferState.running : summary.state
    return "\(summary.identifier ?? "\(summary.id)") \(state) \(summary.priority)"
      + " \(summary.group ?? "-") \(summary.host ?? "-")"
  }
}

extension SimulatedManager {
  /// The differences between memory and store, in words.
  func disagreements(
    _ groups: [String] = [], _ identifiers: [String] = []
  ) throws -> [String] {
    let (memory, behaviours) = (memory, process.store.behaviours)
    // Nothing is stored between the two checks.
    process.store.behaviours.isSlow = false
    defer { process.store.behaviours.isSlow = behaviours.isSlow }
    return try call { manager in
      let live = try await VisibleListState(manager, groups, identifiers)
      let stored = VisibleListState(stored: try await memory.open(), groups, identifiers)
      return live.differences(from: stored)
    }
  }

  /// The state from the manager, with what each member does and waits for.
  func visibleState(
    _ groups: [String], _ identifiers: [String]
  ) throws -> (list: VisibleListState, snapshots: [TransferSnapshot?]) {
    try call { manager in
      let list = try await VisibleListState(manager, groups, identifiers)
      var snapshots: [TransferSnapshot?] = []
      for transfer in try await manager.transfers() { snapshots.append(await transfer.snapshot) }
      return (list, snapshots)
    }
  }

  /// Sends a command, records it in the ledger, and waits until it has returned.
  func order(_ command: TransferMachine.Command, _ selection: TransferSelection) throws {
    let number = ledger.withLockedValue { $0.sent(command, nil, nil, "\(command)") }
    let ledger = ledger
    _ = try call { manager in
      do throws(TransferError) {
        let report = try await manager.carryOut(command, selection)
        ledger.withLockedValue { $0.returned(number, refused: report.refused) }
      } catch {
        ledger.withLockedValue { $0.threw(number, error) }
        throw error
      }
    }
  }
}
