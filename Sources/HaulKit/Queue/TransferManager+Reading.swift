import HaulCore

/// How things stand, and waiting for them.
extension TransferManager {
  func summary(of id: TransferID) -> TransferSummary? {
    queue.members[id].map(TransferSummary.init)
  }

  func result(of id: TransferID) async throws(TransferError) -> TransferResult {
    while queue.members[id] != nil {
      if queue.members[id]?.end != nil, let result = try await store.records([id]).first?.result {
        return try result.orItsError
      }
      guard !isShutDown, !Task.isCancelled,
        let result = await waits.ended.valueUnlessCancelled(for: id).flatMap({ $0 })
      else { break }
      return try result.orItsError
    }
    throw TransferError(.interrupted, "it was not waited for until its end")
  }

  /// Waits until nothing runs and nothing waits for a slot. What is paused, or waits for something that is not going to be
  /// completed, is not waited for. Returns at once when the manager is shut down or the task cancelled.
  public func waitUntilEmpty() async {
    while queue.busy > 0, !isShutDown, !Task.isCancelled {
      _ = await waits.empty.valueUnlessCancelled(for: .init())
    }
  }

  /// How many members of the list there are in each state. O(members).
  public var counts: [TransferState: Int] {
    queue.members.values.reduce(into: [:]) { $0[TransferState($1), default: 0] += 1 }
  }

  /// How the transfers stand, in the order of the list.
  /// - Complexity: O(n log n) in the members of the list.
  public func summaries(of selection: TransferSelection = .all) -> [TransferSummary] {
    ids(of: selection).compactMap { queue.members[$0].map(TransferSummary.init) }
  }
}

extension TransferResult {
  /// Itself when it is a success.
  fileprivate var orItsError: TransferResult {
    get throws(TransferError) {
      switch state {
      case .completed: self
      case .failed: throw error ?? TransferError(.internal, "it failed")
      case .cancelled: throw TransferError(.cancelled, "it was cancelled")
      }
    }
  }
}
