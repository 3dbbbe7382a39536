import HaulCore
import HaulFiles

/// A transfer with what its events and handles carry.
struct Identified: Sendable {
  let id: TransferID
  let identity: TransferIdentity?
}

/// Adding, and changing what a member is to do.
extension QueueCoordinator {
  /// A call of `add` that waits for its turn.
  final class WaitingAdd {
    let requests: [TransferRequest]
    let ifKnown: TransferRequest.IfKnown
    let key: String?
    var outcome: Result<Added, TransferError>?

    init(_ requests: [TransferRequest], _ ifKnown: TransferRequest.IfKnown, _ key: String?) {
      (self.requests, self.ifKnown, self.key) = (requests, ifKnown, key)
    }
  }

  struct Added: Sendable {
    /// By the places of the requests.
    let all: [Identified]
    var new: [Identified] = []
    var updated: [TransferID] = []
    var hold: EventHub.Hold?
  }

  /// Events of what is new are kept back until the caller has released them.
  func add(
    _ requests: [TransferRequest], ifKnown: TransferRequest.IfKnown = .keep, key: String? = nil
  ) async throws(TransferError) -> Added {
    try refuseAfterShutdown()
    let mine = WaitingAdd(try checked(requests), ifKnown, key)
    waitingAdds.append(mine)
    await turn.run {
      guard mine.outcome == nil else { return }
      await store(takeAdds())
    }
    guard let outcome = try mine.outcome?.get() else {
      throw TransferError(.internal, "nothing was added")
    }
    for id in outcome.updated {
      if let event = await snapshotEvent(of: id) { engine.hub.emit([event]) }
    }
    await startWhatMay()
    if engine.hub.isHeard { emitWaiting(outcome.new) }
    return outcome
  }

  /// Those that are stored together, with one sync: the calls that wait, up to the first one with a
  /// key, which is stored by itself.
  private func takeAdds() -> [WaitingAdd] {
    var count = 0
    let together = waitingAdds.prefix { add in
      count += add.requests.count
      return add.key == nil && count <= portion
    }
    let adds = together.isEmpty ? Array(waitingAdds.prefix(1)) : Array(together)
    waitingAdds.removeFirst(adds.count)
    return adds
  }

  private func store(_ adds: [WaitingAdd]) async {
    do throws(TransferError) {
      let outcomes = try await addNow(adds)
      for (add, outcome) in zip(adds, outcomes) { add.outcome = .success(outcome) }
    } catch {
      guard adds.count > 1 else {
        adds.first?.outcome = .failure(error)
        return
      }
      // One of them was refused, perhaps: the others are not to fail with it.
      for add in adds { await store([add]) }
    }
  }

  /// What one call comes to.
  private struct PreparedAdd {
    let additions: [QueueMachine.Addition]
    let updates: [(record: TransferRecord, request: TransferRequest)]
    let batch: StoreChange.Batch?
    let added: Added
  }

  private func addNow(_ adds: [WaitingAdd]) async throws(TransferError) -> [Added] {
    var prepared: [PreparedAdd] = []
    do throws(TransferError) {
      for add in adds { prepared.append(try await prepare(add)) }
      try await commit(starting: !isStoreRefusing) { (queue, decision) throws(TransferError) in
        try refuseAfterShutdown()
        for add in prepared {
          if let batch = add.batch { decision.batch = batch }
          try queue.add(add.additions, &decision)
          for (record, request) in add.updates {
            let names = (record.request.target, request.target)
            let refusal = try queue.set(request, of: record, names: names, &decision)
            if let refusal { throw TransferError(refusal) }
          }
        }
      }
    } catch {
      for add in prepared { undo(add) }
      throw error
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

  private func prepare(_ add: WaitingAdd) async throws(TransferError) -> PreparedAdd {
    let (requests, ifKnown) = (add.requests, add.ifKnown)
    // The same call was stored before.
    if let key = add.key, let ids = try await store.batch(key) {
      return PreparedAdd(
        additions: [], updates: [], batch: nil, added: Added(all: try await identified(ids)))
    }
    let known = try await known(requests, ifKnown)
    let found = known.mapValues {
      Identified(id: $0.id, identity: TransferIdentity($0.request))
    }
    let updates = ifKnown == .update ? updates(of: known, by: requests) : []
    let additions = additions(
      found.isEmpty ? requests : requests.indices.filter { found[$0] == nil }.map { requests[$0] })
    let new = additions.map {
      Identified(id: $0.id, identity: TransferIdentity($0.request))
    }
    await reserveNames(of: additions)
    var rest = new[...]
    let all =
      found.isEmpty ? new : requests.indices.compactMap { found[$0] ?? rest.popFirst() }
    // Their readers may come before they start.
    for addition in additions where addition.request.isStream { openStream(of: addition.id) }
    return PreparedAdd(
      additions: additions, updates: updates,
      batch: add.key.map { StoreChange.Batch(key: $0, ids: all.map(\.id)) },
      added: Added(
        all: all, new: new, updated: updates.map(\.record.id), hold: engine.hub.hold()))
  }

  /// Those that are to do something else from now on.
  private func updates(
    of known: [Int: TransferRecord], by requests: [TransferRequest]
  ) -> [(record: TransferRecord, request: TransferRequest)] {
    known.sorted { $0.key < $1.key }.compactMap { place, record in
      var (former, request) = (record.request, requests[place])
      former.priority = queue.members[record.id]?.facts.storedState.priority ?? former.priority
      // What it waits for is known by ids; what was completed since is waited for no more.
      request.after = former.after
      return request == former ? nil : (record, request)
    }
  }

  private func refuseAfterShutdown() throws(TransferError) {
    guard !isShutDown else { throw TransferError(.interrupted, "the manager was shut down") }
  }

  /// The requests as they are stored: a list that outlives the process has absolute paths, or the
  /// next program would put files elsewhere.
  private func checked(
    _ requests: [TransferRequest]
  ) throws(TransferError) -> [TransferRequest] {
    for request in requests { try request.checkPaths() }
    guard store.isDurable || !engine.isAttended, requests.contains(where: \.hasRelativePath) else {
      return requests
    }
    let directory: String
    do {
      directory = try engine.disk.workingDirectory()
    } catch {
      throw TransferError(.io, "the working directory is not there; give absolute paths")
    }
    return requests.map { $0.absolute(in: directory) }
  }

  /// With ids that no member has: among a million, two made at random are often the same.
  private func additions(_ requests: [TransferRequest]) -> [QueueMachine.Addition] {
    var new = IDTable()
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

  /// By the places of the requests the transfers that have their identifiers already.
  private func known(
    _ requests: [TransferRequest], _ ifKnown: TransferRequest.IfKnown
  ) async throws(TransferError) -> [Int: TransferRecord] {
    var places: [TransferID: [Int]] = [:]
    for (place, request) in requests.enumerated() {
      guard let identifier = request.identifier, let id = queue.id(of: identifier) else { continue }
      guard ifKnown != .refuse else {
        throw TransferError(.inUse, "the identifier \(identifier) belongs to another transfer")
      }
      guard queue.members.state(of: id) != .stopping(.remove) else {
        throw TransferError(
          .inUse, "the transfer of the identifier \(identifier) is being removed; add it again then"
        )
      }
      places[id, default: []].append(place)
    }
    guard !places.isEmpty else { return [:] }
    var known: [Int: TransferRecord] = [:]
    for record in try await store.records(Array(places.keys)) {
      for place in places[record.id] ?? [] { known[place] = record }
    }
    return known
  }

  /// Names follow the order of what is added, whichever runs first and however it ends: files that
  /// would have one name get theirs now.
  private func reserveNames(of additions: [QueueMachine.Addition]) async {
    guard additions.count > 1 else { return }
    // Of each target the last one that has it.
    var places = [String: Int](minimumCapacity: additions.count)
    var shared: Set<Int> = []
    for (place, addition) in additions.enumerated() where addition.request.derivesName {
      guard let other = places.updateValue(place, forKey: addition.target ?? "") else { continue }
      shared.formUnion([other, place])
    }
    guard !shared.isEmpty else { return }
    let alike = shared.sorted().map { additions[$0] }
    // Where no name can be found now, the run of it tells why.
    try? await engine.io.run { [engine] in
      for addition in alike {
        guard let download = addition.request.download else { continue }
        try? TargetClaim.reserve(
          for: download, of: addition.id, among: alike.count, on: engine.disk,
          nonce: engine.random.bytes(16), book: engine.targets)
      }
    }
  }

  /// Changes a request; as `TransferManager.set`.
  func set(
    _ id: TransferID, _ change: @Sendable (inout TransferRequest) -> Void
  ) async throws(TransferError) -> CommandRefusal? {
    let refusal = try await turn.run { () async throws(TransferError) -> CommandRefusal? in
      guard let record = try await store.records([id]).first, let member = queue.members[id]
      else { return .isUnknown }
      var request = record.request
      request.priority = member.facts.storedState.priority
      change(&request)
      request = try checked([request])[0]
      let names = (record.request.target, request.target)
      return try await commit(starting: !isStoreRefusing) {
        (queue, decision) throws(TransferError) in
        try queue.set(request, of: record, names: names, &decision)
      }
    }
    if refusal == nil, let event = await snapshotEvent(of: id) { engine.hub.emit([event]) }
    await startWhatMay()
    return refusal
  }
}

extension TransferRequest {
  /// Whether it is a download whose name comes from its address, and may get a number.
  fileprivate var derivesName: Bool {
    guard case .download(let download) = work, case .directory = download.destination,
      !download.usesServerName
    else { return false }
    return download.ifExists == .update || download.ifExists == .rename
  }

  fileprivate var isStream: Bool {
    if case .download(let download) = work { download.destination == .stream } else { false }
  }

  /// Where the file is to go; a number may be added when the name turns out to be taken.
  fileprivate var target: String? {
    guard case .download(let download) = work else { return nil }
    return switch download.destination {
    case .stream: nil
    case .file(let path): path
    case .directory(let path): path.filePath(FileName(download.url).text)
    }
  }
}
