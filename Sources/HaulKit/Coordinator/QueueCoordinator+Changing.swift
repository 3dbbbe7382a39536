import HaulCore

/// Changes the requests of members.
extension QueueCoordinator {
  package typealias Edit = @Sendable (inout TransferRequest) throws -> Void

  /// A record with the request that it is to get.
  private typealias Changed = (record: TransferRecord, request: TransferRequest)

  /// Changes requests, in the order given, and stores them together, in portions. One whose change
  /// is refused stays as it is, and the others are changed.
  /// - Returns: why some were refused: what `edit` throws, or a `TransferError`.
  /// - Throws: `io` or `disk-full` when it cannot be stored; the portions before it stay changed.
  package func set(
    _ ids: [TransferID], _ edit: Edit
  ) async throws(TransferError) -> [TransferID: any Error] {
    var refused: [TransferID: any Error] = [:]
    for start in stride(from: 0, to: ids.count, by: portionSize) {
      let some = Array(ids[start..<min(start + portionSize, ids.count)])
      let changed = try await mutex.run { () async throws(TransferError) in
        try await change(some, edit, &refused)
      }
      for (record, request) in changed {
        runs.run(of: record.id)?.context.take(request)
        if let event = await snapshotEvent(of: record.id) { engine.hub.emit([event]) }
      }
    }
    await startReady()
    return refused
  }

  /// See `TransferManager.set`.
  func set(
    _ selection: TransferSelection, _ change: @Sendable (inout TransferRequest) -> Void
  ) async throws(TransferError) -> CommandReport {
    let ids = ids(of: selection)
    let errors = try await set(ids) { change(&$0) }
    var refused: [TransferID: CommandRefusal] = [:]
    for id in ids {
      guard let error = errors[id] as? TransferError else { continue }
      guard let refusal = error.refusal else { throw error }
      refused[id] = refusal
    }
    return CommandReport(refused: refused)
  }

  /// Changes one portion, with the mutex held.
  private func change(
    _ ids: [TransferID], _ edit: Edit, _ refused: inout [TransferID: any Error]
  ) async throws(TransferError) -> [Changed] {
    let records = Dictionary(
      try await store.records(ids).map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    var (changes, errors): ([Changed], [TransferID: any Error]) = ([], [:])
    for id in ids {
      do {
        guard let record = records[id] else { throw TransferError(.isUnknown) }
        changes.append(try await changed(record, edit))
      } catch {
        errors[id] = error
      }
    }
    let (done, further) = try await commit(starting: !isStoreRefusing) {
      (queue, decision) throws(TransferError) in
      var (done, refused): ([Changed], [TransferID: any Error]) = ([], [:])
      for change in changes {
        let (record, request) = change
        let names = (record.request.target, request.target)
        do throws(TransferError) {
          let refusal = try queue.set(
            request, of: record, names: names, mayHaveBytes: mayHaveBytes(record), &decision)
          if let refusal { throw TransferError(refusal) }
          done.append(change)
        } catch {
          refused[record.id] = error
        }
      }
      return (done, refused)
    }
    refused.merge(errors.merging(further) { $1 }) { $1 }
    return done
  }

  private func changed(_ stored: TransferRecord, _ edit: Edit) async throws -> Changed {
    guard let member = queue.members[stored.id] else { throw TransferError(.isUnknown) }
    var record = stored
    var request = record.request
    request.priority = member.storedState.priority
    let startTime = member.storedState.pendingStartTime
    request.startSeconds = startTime
    try edit(&request)
    plan(&request, after: record.request, of: member)
    // One that no longer counts stays in the request, so that the same `add` changes nothing.
    if request.startSeconds == startTime {
      request.startSeconds = record.request.startSeconds
    } else {
      record.request.startSeconds = startTime
    }
    request = try checked([request])[0]
    try await checkGroup(of: request, before: record.request)
    return (record, request)
  }
}
