public import HaulCore

/// Handles of what is in the list, also of what an earlier program added.
extension TransferManager {
  /// The handle of that transfer; nil when it is not in the list.
  /// - Throws: `io`.
  public func transfer(_ id: TransferID) async throws(TransferError) -> Transfer? {
    try await handles([id]).first
  }

  /// The handle of the transfer that has this identifier of the caller's; nil when none in the list has.
  /// - Throws: `io`.
  public func transfer(identifier: String) async throws(TransferError) -> Transfer? {
    guard let id = queue.id(of: identifier) else { return nil }
    return try await transfer(id)
  }

  /// Handles of transfers, in the order of the list.
  /// - Throws: `io`.
  /// - Complexity: O(n log n) in the members of the list; each one's request is read from the store.
  public func transfers(
    of selection: TransferSelection = .all
  ) async throws(TransferError) -> [Transfer] { try await handles(ids(of: selection)) }

  func handles(_ ids: [TransferID]) async throws(TransferError) -> [Transfer] {
    let records = try await store.records(ids)
    return records.map { Transfer(id: $0.id, url: $0.request.download?.url, manager: self) }
  }
}

/// How things stand, and waiting for them.
extension TransferManager {
  func summary(of id: TransferID) -> TransferSummary? {
    queue.members[id].map(TransferSummary.init)
  }

  func result(of id: TransferID) async throws(TransferError) -> TransferResult {
    guard OwnTransfer.id != id else { throw OwnTransfer.error }
    guard let end = try await ending(of: id, orObstruction: true) else {
      throw TransferError(.interrupted, "it was not waited for until its end")
    }
    return try end.orItsError
  }

  /// How it ends, in whichever way; nil when that is not waited for until then.
  func end(of id: TransferID) async -> TransferResult? {
    do {
      return try await ending(of: id, orObstruction: false)
    } catch {
      engine.log(error)
      return nil
    }
  }

  /// - Parameter orObstruction: whether not to wait for one that does not run before another is retried.
  /// - Throws: `io`.
  private func ending(
    of id: TransferID, orObstruction: Bool
  ) async throws(TransferError) -> TransferResult? {
    while let member = queue.members[id] {
      guard member.end != nil else {
        if orObstruction, obstruction(of: id) != nil {
          // What is decided is stored when the turn is over, or does not hold.
          await turns.run {}
          if let result = obstruction(of: id) { return result }
        }
        guard !isShutDown, !Task.isCancelled else { return nil }
        if let end = await waits.ended.valueUnlessCancelled(for: id).flatMap({ $0 }) { return end }
        continue
      }
      // An end that is decided is stored when the turn is over, or is none.
      let result = try await turns.run { () async throws(TransferError) -> TransferResult? in
        guard queue.members[id]?.end != nil else { return nil }
        return try await store.records([id]).first?.result
      }
      if let result { return result }
    }
    return nil
  }

  /// The result for those who await a transfer that cannot run before another is retried; nil for any other.
  func obstruction(of id: TransferID) -> TransferResult? {
    queue.obstruction(of: id).map { other in
      TransferResult(
        state: .failed,
        error: TransferError(
          .dependencyFailed,
          "it waits, as \(other), which must be completed before, was not; retry that one"))
    }
  }

  /// Waits until nothing runs and nothing waits for a slot. What is paused, or waits for something that is not going to be
  /// completed, is not waited for, nor is the step that calls this. Returns at once when the manager is shut down or the
  /// task cancelled.
  public func waitUntilEmpty() async {
    let own = OwnTransfer.id.flatMap { queue.members[$0] } == nil ? 0 : 1
    while !isShutDown, !Task.isCancelled {
      if queue.busy > own {
        // What is added by the time that this is told does not make it untold.
        if await waits.empty.valueUnlessCancelled(for: own) != nil { return }
      } else {
        // The last end is decided, and stored when the turn is over.
        await turns.run {}
        if queue.busy <= own { return }
      }
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

  /// A page of the list, in its order: how the transfers behind one stand.
  /// - Parameters:
  ///   - id: the last one of the page before; nil for the first page. Behind one that is not in the list there is nothing.
  ///   - count: how many at most.
  ///   - group: of this group only, unless it is nil.
  /// - Throws: `io`.
  /// - Complexity: O(the page) where the list is in a store on the disk, whatever the length of the list.
  public func summaries(
    after id: TransferID?, atMost count: Int, of group: String? = nil
  ) async throws(TransferError) -> [TransferSummary] {
    var query = RecordQuery(group: group, atMost: max(count, 0))
    if let id {
      guard let member = queue.members[id] else { return [] }
      query.afterRank = member.facts.standing.rank
    }
    let records = try await store.records(where: query)
    return records.compactMap { queue.members[$0.id].map(TransferSummary.init) }
  }
}

extension TransferResult {
  /// Itself when it is a success.
  var orItsError: TransferResult {
    get throws(TransferError) {
      switch state {
      case .completed: self
      case .failed: throw error ?? TransferError(.internal, "it failed")
      case .cancelled: throw TransferError(.cancelled, "it was cancelled")
      }
    }
  }
}
