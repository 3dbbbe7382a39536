/// Adding.
extension QueueMachine {
  /// What is to be added; its id is new.
  package struct Addition: Sendable {
    package let id: TransferID
    package let request: TransferRequest
    /// Where its file is to go, as far as that is known.
    package let target: String?

    package init(id: TransferID, request: TransferRequest, target: String?) {
      self.id = id
      self.request = request
      self.target = target
    }
  }

  /// Adds members at the end, in order, all of them or none.
  /// - Throws: `dependency-failed` when one depends on something that is not there, or on itself by way of others, which are
  ///   named; `in-use` when an identifier is taken.
  package mutating func add(
    _ additions: [Addition], _ decision: inout QueueDecision
  ) throws(TransferError) {
    var known = identifiers
    for addition in additions {
      guard let identifier = addition.request.identifier else { continue }
      guard known.updateValue(addition.id, forKey: identifier) == nil else {
        throw TransferError(.inUse, "the identifier \(identifier) belongs to another transfer")
      }
    }
    let records = try resolve(additions, known)
    let nodes = records.map { record in
      let facts = QueuedMember(record)
      return DependencyGraph.Node(
        id: facts.id, after: facts.after, policy: facts.whenDependencyFails)
    }
    do {
      try graph.add(nodes.filter { !$0.after.isEmpty }) { members[$0]?.end?.dependencyEnd }
    } catch {
      let names = Dictionary(
        additions.map { ($0.id, $0.request.identifier) }, uniquingKeysWith: { $1 })
      throw TransferError(.dependencyFailed, Self.words(error) { names[$0] ?? nil })
    }
    identifiers = known
    for (record, addition) in zip(records, additions) { append(record, addition.target, &decision) }
    settle(&decision)
  }

  /// The ids of dependencies in place of identifiers, and the places.
  private func resolve(
    _ additions: [Addition], _ known: [String: TransferID]
  ) throws(TransferError) -> [TransferRecord] {
    let new = Set(additions.map(\.id))
    var records: [TransferRecord] = []
    for addition in additions {
      var request = addition.request
      request.after = try resolve(request.after, known, new)
      records.append(TransferRecord(id: addition.id, request: request))
    }
    return records
  }

  /// By their ids.
  func resolve(
    _ dependencies: [TransferRequest.Dependency], _ known: [String: TransferID],
    _ new: Set<TransferID>
  ) throws(TransferError) -> [TransferRequest.Dependency] {
    var after: [TransferRequest.Dependency] = []
    for dependency in dependencies {
      let id: TransferID? =
        switch dependency {
        case .transfer(let id): members[id] != nil || new.contains(id) ? id : nil
        case .identifier(let identifier): known[identifier]
        }
      guard let id else {
        throw TransferError(
          .dependencyFailed, "it is to come after \(dependency.words), which is not in the list")
      }
      after.append(.transfer(id))
    }
    return after
  }

  private mutating func append(
    _ new: TransferRecord, _ target: String?, _ decision: inout QueueDecision
  ) {
    var record = new
    record.standing.rank = ranks.append()
    record.standing.priority = record.request.priority
    decision.added.append(record)
    insert(Member(machine: TransferMachine(), facts: QueuedMember(record)))
    if let group = record.request.group { groups.added(group) }
    tell(.added(target: target), of: record.id, &decision)
    place(record.id, &decision)
  }

  static func words(
    _ cycle: DependencyGraph.Cycle, _ identifier: (TransferID) -> String?
  ) -> String {
    let circle = cycle.ids.map { identifier($0) ?? "\($0)" }
    return (circle + circle.prefix(1)).joined(separator: " after ") + ": they wait for each other"
  }
}

extension TransferRequest.Dependency {
  /// Nil while it is told by its identifier.
  var id: TransferID? { if case .transfer(let id) = self { id } else { nil } }

  fileprivate var words: String {
    switch self {
    case .transfer(let id): "\(id)"
    case .identifier(let identifier): identifier
    }
  }
}
