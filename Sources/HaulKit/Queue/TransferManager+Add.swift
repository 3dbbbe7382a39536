public import HaulCore
import HaulFiles

extension TransferManager {
  /// Adds transfers at the end of the list, in order, all of them or none; each starts when a slot is free.
  ///
  /// When this returns they are stored. A request whose `identifier` is in the list already finds the transfer that has it.
  /// - Parameters:
  ///   - requests: in the order in which they are to start. Relative paths, and programs without a directory, begin in the
  ///     working directory of this process, also where the next one runs in another.
  ///   - key: a name of the caller's for this call: the same call again, also after a crash, adds nothing and returns the
  ///     same transfers.
  /// - Throws: `bad-name` for a path with a NUL; `io`, `disk-full` when they could not be stored; `in-use` when an identifier belongs to something else;
  ///   `dependency-failed` when one comes after something unknown, or after itself by way of others; `interrupted` after
  ///   `shutdown`.
  @discardableResult
  public func add(
    _ requests: [TransferRequest], key: String? = nil
  ) async throws(TransferError) -> [Transfer] {
    try refuseAfterShutdown()
    let requests = try checked(requests)
    if let key { await beginAdding(key) }
    defer { if let key { endAdding(key) } }
    if let key, let ids = try await store.batch(key) { return try await handles(ids) }
    let (transfers, new) = try await turns.run { () async throws(TransferError) in
      try await addNow(requests, key: key)
    }
    await startWhatMay()
    if engine.hub.isHeard { for transfer in new { tellWaiting(transfer.id, transfer.url) } }
    return transfers
  }

  /// The requests as they are stored: a list that outlives the process has absolute paths, or the next program would put files elsewhere.
  func checked(_ requests: [TransferRequest]) throws(TransferError) -> [TransferRequest] {
    for request in requests { try request.checkPaths() }
    guard store.isDurable, requests.contains(where: \.hasRelativePath) else { return requests }
    let directory: String
    do {
      directory = try engine.disk.workingDirectory()
    } catch {
      throw TransferError(.io, "the working directory is not there; give absolute paths")
    }
    return requests.map { $0.absolute(in: directory) }
  }

  /// For one whose turn it is: what another call is about to add is there.
  private func addNow(
    _ requests: [TransferRequest], key: String?
  ) async throws(TransferError) -> (all: [Transfer], new: [Transfer]) {
    let found = try await found(requests)
    let additions = additions(
      found.isEmpty ? requests : requests.indices.filter { found[$0] == nil }.map { requests[$0] })
    let new = additions.map { Transfer(id: $0.id, url: $0.request.download?.url, manager: self) }
    await reserveNames(of: additions)
    var rest = new[...]
    let transfers =
      found.isEmpty ? new : requests.indices.compactMap { found[$0] ?? rest.popFirst() }
    try await carryOutNow { (decision) throws(TransferError) in
      try refuseAfterShutdown()
      if let key { decision.batch = StoreChange.Batch(key: key, ids: transfers.map(\.id)) }
      try queue.add(additions, &decision)
    } onceStored: {
      for addition in additions { openStream(of: addition) }
    }
    return (transfers, new)
  }

  /// Names follow the order of what is added, whichever runs first and however it ends: files that would have one name get
  /// theirs now.
  private func reserveNames(of additions: [QueueMachine.Addition]) async {
    guard additions.count > 1 else { return }
    var counts: [String: Int] = [:]
    for addition in additions where addition.request.download?.derivesName == true {
      counts[addition.target ?? "", default: 0] += 1
    }
    let alike = additions.filter {
      $0.request.download?.derivesName == true && counts[$0.target ?? "", default: 0] > 1
    }
    guard !alike.isEmpty else { return }
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

  /// Adds one transfer; as `add(_:key:)` of several.
  /// - Throws: as `add(_:key:)` of several.
  @discardableResult
  public func add(_ request: TransferRequest) async throws(TransferError) -> Transfer {
    let added = try await add([request])
    guard let transfer = added.first else { throw TransferError(.internal, "nothing was added") }
    return transfer
  }

  /// Adds downloads with default priority, in no group.
  /// - Throws: as `add(_:key:)`.
  @discardableResult
  package func add(_ downloads: [DownloadRequest]) async throws(TransferError) -> [Transfer] {
    try await add(downloads.map { TransferRequest(.download($0)) })
  }

  /// Adds one download with default priority, in no group.
  /// - Throws: as `add(_:key:)`.
  @discardableResult
  package func add(_ download: DownloadRequest) async throws(TransferError) -> Transfer {
    try await add(TransferRequest(.download(download)))
  }

  /// One call with a key at a time: the next one finds what it added.
  private func beginAdding(_ key: String) async {
    while !adding.insert(key).inserted { await waits.added.value(for: key) }
  }

  private func endAdding(_ key: String) {
    adding.remove(key)
    waits.added.resume(key, ())
  }

  private func refuseAfterShutdown() throws(TransferError) {
    guard !isShutDown else { throw TransferError(.interrupted, "the manager was shut down") }
  }

  /// With ids that nobody has: among a million, two made at random are often the same.
  private func additions(_ requests: [TransferRequest]) -> [QueueMachine.Addition] {
    var new = IDTable()
    new.reserve(requests.count)
    return engine.random.withGenerator { generator in
      requests.map { request in
        var id: TransferID
        repeat {
          id = TransferID(using: &generator)
        } while queue.members.contains(id) || !new.set(id, to: 0)
        return QueueMachine.Addition(id: id, request: request, target: request.download?.target)
      }
    }
  }

  /// Its reader may come before it starts.
  private func openStream(of addition: QueueMachine.Addition) {
    if addition.request.download?.destination == .stream { openStream(addition.id) }
  }

  func openStream(_ id: TransferID) {
    streams[id] = StreamPlace(buffer: StreamBuffer(size: engine.streamWindow, io: engine.io))
  }

  /// By the places of the requests the transfers that have their identifiers already.
  private func found(_ requests: [TransferRequest]) async throws(TransferError) -> [Int: Transfer] {
    var found: [Int: Transfer] = [:]
    for (index, request) in requests.enumerated() {
      guard let identifier = request.identifier, let id = queue.id(of: identifier) else { continue }
      guard let record = try await store.records([id]).first, record.request.work == request.work
      else {
        throw TransferError(.inUse, "the identifier \(identifier) belongs to another transfer")
      }
      guard queue.members.state(of: id) != .stopping(.remove) else {
        throw TransferError(
          .inUse, "the transfer of the identifier \(identifier) is being removed; add it again then"
        )
      }
      found[index] = Transfer(id: id, url: record.request.download?.url, manager: self)
    }
    return found
  }
}

extension DownloadRequest {
  /// Whether its name comes from its address, and may get a number.
  fileprivate var derivesName: Bool {
    guard case .directory = destination, !usesServerName else { return false }
    return ifExists == .update || ifExists == .rename
  }

  /// Where the file is to go; a number may be added when the name turns out to be taken.
  var target: String? {
    switch destination {
    case .stream: nil
    case .file(let path): path
    case .directory(let path): path.filePath(FileName(url).text)
    }
  }
}
