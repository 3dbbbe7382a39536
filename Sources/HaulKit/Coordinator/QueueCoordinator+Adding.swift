import HaulCore

/// A transfer with the identity that its events and handles carry.
struct IdentifiedTransfer: Sendable {
  let id: TransferID
  let identity: TransferIdentity?
}

/// Adds transfers and changes their requests.
extension QueueCoordinator {
  /// A call of `add` that waits for the mutex.
  final class PendingAdd {
    let requests: [TransferRequest]
    let ifKnown: TransferRequest.IfKnown
    let key: String?
    let isPaused: Bool
    /// Whether a request finds a member that will do the same.
    let findsSame: Bool
    var outcome: Result<Added, TransferError>?

    init(
      _ requests: [TransferRequest], _ ifKnown: TransferRequest.IfKnown, _ key: String?,
      isPaused: Bool, findsSame: Bool
    ) {
      (self.requests, self.ifKnown, self.key) = (requests, ifKnown, key)
      (self.isPaused, self.findsSame) = (isPaused, findsSame)
    }
  }

  struct Added: Sendable {
    /// In the order of the requests.
    let all: [IdentifiedTransfer]
    var new: [IdentifiedTransfer] = []
    var updated: [TransferID] = []
    /// Those that do what a request without an identifier asks for.
    var same: Set<TransferID> = []
    var hold: EventHub.Hold?
  }

  /// Holds back the events of new transfers until the caller releases them.
  /// - Parameter isPaused: pauses the new ones before any of them can start.
  func add(
    _ requests: [TransferRequest], ifKnown: TransferRequest.IfKnown = .keep, key: String? = nil,
    isPaused: Bool = false, findsSame: Bool = false
  ) async throws(TransferError) -> Added {
    try refuseAfterShutdown()
    let mine = PendingAdd(
      planned(try checked(requests)), ifKnown, key, isPaused: isPaused, findsSame: findsSame)
    waitingAdds.append(mine)
    await mutex.run {
      guard mine.outcome == nil else { return }
      await storeAdds(takeAdds())
    }
    guard let outcome = try mine.outcome?.get() else {
      throw TransferError(.internal, "nothing was added")
    }
    for id in outcome.updated {
      if let event = await snapshotEvent(of: id) { engine.hub.emit([event]) }
    }
    await startReady()
    if engine.hub.hasSubscribers { emitWaiting(outcome.new) }
    return outcome
  }

  /// The waiting calls that are stored together, with one sync: up to the first call with a key,
  /// which is stored alone.
  private func takeAdds() -> [PendingAdd] {
    var count = 0
    let together = waitingAdds.prefix { add in
      count += add.requests.count
      return add.key == nil && count <= portionSize
    }
    let adds = together.isEmpty ? Array(waitingAdds.prefix(1)) : Array(together)
    waitingAdds.removeFirst(adds.count)
    return adds
  }

  private func storeAdds(_ adds: [PendingAdd]) async {
    do throws(TransferError) {
      let outcomes = try await addNow(adds)
      for (add, outcome) in zip(adds, outcomes) { add.outcome = .success(outcome) }
    } catch {
      guard adds.count > 1 else {
        adds.first?.outcome = .failure(error)
        return
      }
      // One of them may have been refused: store each alone, so that the others do not fail too.
      for add in adds { await storeAdds([add]) }
    }
  }

  /// What one call adds and updates.
  private struct PreparedAdd {
    let additions: [QueueMachine.Addition]
    let updates: [(record: TransferRecord, request: TransferRequest)]
    let batch: StoreChange.Batch?
    let isPaused: Bool
    let added: Added
  }

  private func addNow(_ adds: [PendingAdd]) async throws(TransferError) -> [Added] {
    var prepared: [PreparedAdd] = []
    do throws(TransferError) {
      for add in adds { prepared.append(try await prepare(add)) }
      try await commit(starting: !isStoreRefusing) { (queue, decision) throws(TransferError) in
        try refuseAfterShutdown()
        for add in prepared {
          if let batch = add.batch { decision.batch = batch }
          try queue.add(add.additions, &decision)
          if add.isPaused {
            _ = queue.handle(.pause, add.additions.map(\.id), by: .user, &decision)
          }
          for (record, request) in add.updates {
            let names = (record.request.target, request.target)
            let refusal = try queue.set(
              request, of: record, names: names, mayHaveBytes: mayHaveBytes(record), &decision)
            if let refusal { throw TransferError(refusal) }
          }
        }
      }
    } catch {
      for add in prepared { undo(add) }
      throw error
    }
    for addition in prepared.lazy.flatMap(\.additions) where addition.request.roots == nil {
      if let group = addition.request.group { groupsOfClients.remove(group) }
    }
    return prepared.map(\.added)
  }

  private func undo(_ add: PreparedAdd) {
    if let hold = add.added.hold { engine.hub.release(hold) }
    for addition in add.additions {
      runs.remove(addition.id)
      engine.targets.forget(addition.id)
    }
  }

  private func prepare(_ add: PendingAdd) async throws(TransferError) -> PreparedAdd {
    let (requests, ifKnown) = (add.requests, add.ifKnown)
    // The same call was stored earlier.
    if let key = add.key, let ids = try await store.batch(key) {
      return PreparedAdd(
        additions: [], updates: [], batch: nil, isPaused: false,
        added: Added(all: try await identified(ids)))
    }
    let known = try await known(requests, ifKnown)
    try await checkNamedDependencies(of: requests)
    let same = add.findsSame ? try await same(as: requests) : [:]
    let found = known.merging(same) { known, _ in known }.mapValues {
      IdentifiedTransfer(id: $0.id, identity: TransferIdentity($0.request))
    }
    let updates = ifKnown == .update ? updates(of: known, by: requests) : []
    for (record, request) in updates { try await checkGroup(of: request, before: record.request) }
    let additions = additions(
      found.isEmpty ? requests : requests.indices.filter { found[$0] == nil }.map { requests[$0] })
    try await checkGroups(of: additions)
    let new = additions.map {
      IdentifiedTransfer(id: $0.id, identity: TransferIdentity($0.request))
    }
    await reserveNames(of: additions)
    var rest = new[...]
    let all =
      found.isEmpty ? new : requests.indices.compactMap { found[$0] ?? rest.popFirst() }
    // A reader may come before the stream starts.
    for addition in additions where addition.request.isStream { openStream(of: addition.id) }
    return PreparedAdd(
      additions: additions, updates: updates,
      batch: add.key.map { StoreChange.Batch(key: $0, ids: all.map(\.id)) },
      isPaused: add.isPaused,
      added: Added(
        all: all, new: new, updated: updates.map(\.record.id), same: Set(same.values.map(\.id)),
        hold: engine.hub.hold()))
  }

  /// The members whose requests change.
  private func updates(
    of known: [Int: TransferRecord], by requests: [TransferRequest]
  ) -> [(record: TransferRecord, request: TransferRequest)] {
    known.sorted { $0.key < $1.key }.compactMap { index, record in
      var (former, request) = (record.request, requests[index])
      former.priority = queue.members[record.id]?.storedState.priority ?? former.priority
      // Dependencies are stored as ids; those that have completed since are left out.
      request.dependencies = former.dependencies
      if request.repetition?.isSame(as: former.repetition) == true {
        (request.repetition, request.startSeconds) = (former.repetition, former.startSeconds)
      }
      return request == former ? nil : (record, request)
    }
  }

  private func refuseAfterShutdown() throws(TransferError) {
    guard !isShutDown else { throw TransferError(.interrupted, "the manager was shut down") }
  }

  /// The requests as they are stored. A stored list needs absolute paths, because the next process
  /// may have another working directory.
  func checked(
    _ requests: [TransferRequest]
  ) throws(TransferError) -> [TransferRequest] {
    for request in requests { try request.checkPaths() }
    try checkRepetitions(of: requests)
    guard store.isDurable || !engine.isAttended, requests.contains(where: \.hasRelativePath) else {
      return requests
    }
    let directory: String
    do {
      directory = try engine.disk.workingDirectory()
    } catch {
      throw TransferError(
        .io, "the working directory does not exist, or is not UTF-8", advice: "give absolute paths")
    }
    return requests.map { $0.absolute(in: directory) }
  }

  /// Assigns unused ids: two of a million random ids may be equal.
  private func additions(_ requests: [TransferRequest]) -> [QueueMachine.Addition] {
    var new = IDIndex()
    new.reserve(requests.count)
    var random = engine.random
    return requests.map { request in
      var id: TransferID
      repeat {
        id = TransferID(using: &random)
      } while queue.members.contains(id) || !new.set(id, to: 0)
      return QueueMachine.Addition(id: id, request: request, target: request.target)
    }
  }

  /// The transfers that already have the identifiers, in the order of the requests.
  private func known(
    _ requests: [TransferRequest], _ ifKnown: TransferRequest.IfKnown
  ) async throws(TransferError) -> [Int: TransferRecord] {
    var indices: [TransferID: [Int]] = [:]
    for (index, request) in requests.enumerated() {
      guard let identifier = request.identifier, let id = queue.id(of: identifier) else { continue }
      guard ifKnown != .refuse else {
        throw TransferError(.inUse, "the identifier \(identifier) belongs to another transfer")
      }
      guard queue.members.state(of: id) != .stopping(.remove) else {
        throw TransferError(
          .inUse,
          "the transfer with the identifier \(identifier) is being removed",
          advice: "add it when that is done")
      }
      indices[id, default: []].append(index)
    }
    guard !indices.isEmpty else { return [:] }
    var known: [Int: TransferRecord] = [:]
    for record in try await store.records(Array(indices.keys)) {
      for index in indices[record.id] ?? [] {
        try Self.checkKept(record.request, ifKnown, for: requests[index])
        known[index] = record
      }
    }
    return known
  }

  /// The members that have not ended and will do what a download without an identifier asks for:
  /// the same address with the same options, to the same place. One that waits for something counts
  /// for no request, nor one of the other side of TCP.
  private func same(
    as requests: [TransferRequest]
  ) async throws(TransferError) -> [Int: TransferRecord] {
    guard let search = store as? any AddressSearch else { return [:] }
    var indices: [String: [Int]] = [:]
    for (index, request) in requests.enumerated() {
      guard let url = request.download?.url, request.identifier == nil,
        request.dependencies.isEmpty,
        request.startSeconds == nil || request.repetition != nil
      else { continue }
      indices[url.redacted, default: []].append(index)
    }
    guard !indices.isEmpty else { return [:] }
    let ids = try await search.unended(at: Array(indices.keys)).filter(willRun)
    var same: [Int: TransferRecord] = [:]
    for record in try await store.records(ids)
    where record.request.dependencies.isEmpty
      && (record.request.startSeconds == nil || record.request.repetition != nil)
    {
      for index in record.request.url.flatMap({ indices[$0.redacted] }) ?? [] {
        let request = requests[index]
        guard same[index] == nil, (record.request.roots == nil) == (request.roots == nil),
          record.request.difference(from: request) == nil,
          record.request.repetition?.rule == request.repetition?.rule
        else { continue }
        same[index] = record
      }
    }
    return same
  }

  /// Whether it runs, or may run without a retry.
  private func willRun(_ id: TransferID) -> Bool {
    switch queue.members.state(of: id) {
    case .queued, .running, .paused, .stopping(.pause), .stopping(.requeue): true
    case .stopping, .failed, .completed, .cancelled, .removed, nil: false
    }
  }

  /// Reserves file names in the order of `add`, not of the runs: files that would get the same name
  /// get their numbers now.
  private func reserveNames(of additions: [QueueMachine.Addition]) async {
    guard additions.count > 1 else { return }
    // For each target, the last addition that uses it.
    var indices = [String: Int](minimumCapacity: additions.count)
    var shared: Set<Int> = []
    for (index, addition) in additions.enumerated() where addition.request.derivesName {
      guard let other = indices.updateValue(index, forKey: addition.target ?? "") else { continue }
      shared.formUnion([other, index])
    }
    guard !shared.isEmpty else { return }
    let alike = shared.sorted().map { additions[$0] }
    // If no name can be reserved now, the run reports why.
    try? await engine.io.run { [engine] in
      var last: [String: Int] = [:]
      for addition in alike {
        guard let download = addition.request.download else { continue }
        let target = addition.target ?? ""
        last[target] = try? TargetSearch(for: download, of: addition.id, in: engine)
          .reserve(among: alike.count, after: last[target])
      }
    }
  }

  /// Whether an earlier run may have left bytes: not if it failed before any came.
  func mayHaveBytes(_ record: TransferRecord) -> Bool {
    record.result?.state != .failed || runs[record.id].location != nil
  }
}

extension TransferRequest {
  /// Whether it is a download whose name is derived from its address and may get a number.
  fileprivate var derivesName: Bool {
    guard case .download(let download) = work, case .directory = download.destination,
      !download.usesSuggestedName
    else { return false }
    return download.ifExists == .update || download.ifExists == .rename
  }

  fileprivate var isStream: Bool { download?.destination == .stream }

  /// The path of the file: of a download, where a number may be added if the name is taken, or of
  /// an upload's source, if that is a file.
  var target: String? {
    switch work {
    case .download(let download):
      switch download.destination {
      case .stream: nil
      case .file(let path): path
      case .directory(let path): path.filePath(FileName(download.url).text)
      }
    case .upload(let upload): upload.source.files.first
    case .step: nil
    }
  }
}
