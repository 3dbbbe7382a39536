public import HaulCore

extension TransferGroup {
  /// How far its downloads are together, in bytes; without those that failed or were cancelled, as nothing more comes of them. The
  /// total is nil while the length of one is unknown, as it is before it has begun.
  /// - Throws: `io`.
  /// - Complexity: O(members of the list).
  public var progress: Progress {
    get async throws(TransferError) { try await manager.progress(of: name) }
  }
}

extension TransferManager {
  func progress(of group: String) async throws(TransferError) -> Progress {
    // An end that is decided has no result before it is stored.
    try await turns.run { () async throws(TransferError) in
      var sum = ProgressSum()
      var completed: [TransferID] = []
      for id in ids(of: .group(group)) {
        guard let member = queue.members[id], !member.facts.isStep else { continue }
        switch member.end {
        case .completed: completed.append(id)
        case .failed, .cancelled: continue
        case nil: sum.add(engine.hub.live(id).progress, isRunning: member.state == .running)
        }
      }
      for record in try await store.records(completed) { sum.add(whole: record.result?.bytes ?? 0) }
      return sum.progress
    }
  }
}

private struct ProgressSum {
  private var bytes: Int64 = 0
  private var total: Int64? = 0
  private var rate = 0.0
  private var connections = 0

  mutating func add(_ progress: Progress?, isRunning: Bool) {
    bytes += progress?.bytes ?? 0
    total = total.flatMap { sum in progress?.total.map { sum + $0 } }
    guard isRunning, let progress else { return }
    rate += progress.rate
    connections += progress.connections
  }

  mutating func add(whole length: Int64) {
    bytes += length
    total = total.map { $0 + length }
  }

  var progress: Progress {
    Progress(bytes: bytes, total: total, rate: rate, connections: connections)
  }
}
