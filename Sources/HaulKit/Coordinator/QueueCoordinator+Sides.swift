import HaulCore

/// What was added over the socket and what came over TCP do not take each other's names and groups.
extension QueueCoordinator {
  /// What a client over TCP has named is not taken for what its owner names as a dependency.
  func checkNamedDependencies(of requests: [TransferRequest]) async throws(TransferError) {
    var named: Set<TransferID> = []
    for request in requests where request.roots == nil {
      for case .identifier(let name) in request.dependencies {
        if let id = queue.id(of: name) { named.insert(id) }
      }
    }
    guard !named.isEmpty else { return }
    for record in try await store.records(Array(named)) where record.request.roots != nil {
      throw TransferError(
        .inUse,
        "the identifier \(record.request.identifier ?? "") was chosen over TCP",
        advice: "to wait for that transfer, give its id \(record.id)")
    }
  }

  /// What its owner says of a group is not said of what a client over TCP adds: the client does not
  /// join a group with members of its owner.
  /// - Complexity: O(members of the list) for the first addition to a group that has members.
  func checkGroups(of additions: [QueueMachine.Addition]) async throws(TransferError) {
    try await checkGroups(
      Set(additions.lazy.filter { $0.request.roots != nil }.compactMap(\.request.group)))
  }

  /// The same of a changed request.
  func checkGroup(
    of request: TransferRequest, before former: TransferRequest
  ) async throws(TransferError) {
    guard let group = request.group, group != former.group else { return }
    if request.roots != nil {
      try await checkGroups([group])
    } else {
      groupsOfClients.remove(group)
    }
  }

  /// - Parameter named: the groups that a client over TCP names.
  private func checkGroups(_ named: Set<String>) async throws(TransferError) {
    let unclear = named.filter {
      !groupsOfClients.contains($0) && queue.groups.counts(of: $0) != nil
    }
    guard !unclear.isEmpty else { return }
    let members = queue.members.values
      .filter { $0.group.map(unclear.contains) ?? false }.map(\.id)
    for start in stride(from: 0, to: members.count, by: portionSize) {
      let some = Array(members[start..<min(start + portionSize, members.count)])
      for record in try await store.records(some) where record.request.roots == nil {
        throw TransferError(
          .inUse,
          "the group \(record.request.group ?? "") has transfers that were added over the socket",
          advice: "choose another group")
      }
    }
    // A client chooses how many there are.
    if groupsOfClients.count + unclear.count > portionSize { groupsOfClients = [] }
    groupsOfClients.formUnion(unclear)
  }

  /// What a client over TCP has named is not taken for what its owner adds under that name, and
  /// with `match` nothing else than the same request is.
  static func checkKept(
    _ kept: TransferRequest, _ ifKnown: TransferRequest.IfKnown, for request: TransferRequest
  ) throws(TransferError) {
    // An update neither: what the client downloaded would then pass for its owner's.
    if kept.roots != nil, request.roots == nil {
      throw TransferError(
        .inUse,
        "the identifier \(request.identifier ?? "") belongs to a transfer that was added over TCP",
        advice: "remove that one, or choose another")
    }
    guard ifKnown == .match else { return }
    // An answer that depends on its owner's secrets would let a client over TCP guess them.
    guard kept.roots != nil || request.roots == nil else {
      throw TransferError(
        .inUse, "the identifier \(request.identifier ?? "") belongs to another transfer")
    }
    guard let difference = kept.difference(from: request) else { return }
    throw TransferError(
      .inUse,
      "the identifier \(request.identifier ?? "") belongs to a transfer with \(difference)",
      advice: "it stays as it is, and nothing was added; remove it, or choose another identifier")
  }
}
