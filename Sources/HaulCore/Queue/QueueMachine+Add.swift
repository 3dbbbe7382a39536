/// Adds members.
extension QueueMachine {
  /// A transfer to add; its id is new.
  package struct Addition: Sendable {
    package let id: TransferID
    package let request: TransferRequest
    /// The path of its file, if known.
    package let target: String?

    package init(id: TransferID, request: TransferRequest, target: String?) {
      self.id = id
      self.request = request
      self.target = target
    }
  }

  /// Adds members at the end, in order, all of them or none.
  /// - Throws: `dependency-failed` if a dependency is not in the list, or is part of a cycle, which
  ///   is named; `in-use` if an identifier is taken, or another member owns the file.
  package mutating func add(
    _ additions: [Addition], _ decision: inout QueueDecision
  ) throws(TransferError) {
    var named: [String: TransferID] = [:]
    for addition in additions {
      guard let identifier = addition.request.identifier else { continue }
      guard identifiers[identifier] == nil,
        named.updateValue(addition.id, forKey: identifier) == nil
      else {
        throw TransferError(.inUse, "the identifier \(identifier) belongs to another transfer")
      }
    }
    try refuseTakenTargets(additions)
    let nodes = try resolve(additions, named)
    do {
      try graph.add(nodes) { members[$0]?.end?.dependencyEnd }
    } catch {
      let names = Dictionary(
        additions.map { ($0.id, $0.request.identifier) }, uniquingKeysWith: { $1 })
      throw TransferError(.dependencyFailed, Self.text(error) { names[$0] ?? nil })
    }
    for (name, id) in named { identifiers[name] = id }
    decision.reserve(additions.count)
    var rest = nodes[...]
    for addition in additions {
      let node = rest.first?.id == addition.id ? rest.popFirst() : nil
      append(addition, after: node?.after ?? [], &decision)
    }
    recheck(&decision)
  }

  /// Members with dependencies, with ids in place of identifiers.
  private func resolve(
    _ additions: [Addition], _ named: [String: TransferID]
  ) throws(TransferError) -> [DependencyGraph.Node] {
    guard additions.contains(where: { !$0.request.dependencies.isEmpty }) else { return [] }
    let new = Set(additions.map(\.id))
    let identifiers = identifiers
    let known = { (name: String) in identifiers[name] ?? named[name] }
    var nodes: [DependencyGraph.Node] = []
    for addition in additions where !addition.request.dependencies.isEmpty {
      nodes.append(
        DependencyGraph.Node(
          id: addition.id,
          after: try resolve(addition.request.dependencies, new, known).compactMap(\.id),
          policy: addition.request.whenDependencyFails))
    }
    return nodes
  }

  /// By their ids.
  func resolve(
    _ dependencies: [TransferRequest.Dependency], _ new: Set<TransferID>,
    _ known: (String) -> TransferID?
  ) throws(TransferError) -> [TransferRequest.Dependency] {
    var after: [TransferRequest.Dependency] = []
    for dependency in dependencies {
      let id: TransferID? =
        switch dependency {
        case .transfer(let id): members[id] != nil || new.contains(id) ? id : nil
        case .identifier(let identifier): known(identifier)
        }
      guard let id else {
        throw TransferError(
          .dependencyFailed, "its dependency \(dependency.text) is not in the list")
      }
      after.append(.transfer(id))
    }
    return after
  }

  private mutating func append(
    _ new: Addition, after: [TransferID], _ decision: inout QueueDecision
  ) {
    var record = TransferRecord(id: new.id, request: new.request)
    if !after.isEmpty { record.request.dependencies = after.map { .transfer($0) } }
    record.storedState.rank = ranks.append()
    record.storedState.priority = new.request.priority
    if let time = new.request.startTime { record.storedState.waitReason = .startTime(until: time) }
    let isReady = after.isEmpty && record.storedState.waitReason == nil
    if let group = new.request.group { groups.added(group) }
    appendEvent(.added(target: new.target), of: new.id, &decision)
    var member = QueuedMember(record)
    // No member can be waiting for a new one.
    member.isScheduled = isReady
    insert(member)
    if let target = new.request.exactTarget { take(target, for: new.id) }
    if isReady {
      decision.effects.append(.enqueue(new.id))
    } else {
      scheduleOrBlock(new.id, &decision)
    }
    decision.add(record)
  }

  static func text(
    _ cycle: DependencyGraph.Cycle, _ identifier: (TransferID) -> String?
  ) -> String {
    let circle = cycle.ids.map { identifier($0) ?? "\($0)" }
    return (circle + circle.prefix(1)).joined(separator: " after ") + ": they wait for each other"
  }
}

extension TransferRequest.Dependency {
  /// Nil while it is an identifier.
  var id: TransferID? { if case .transfer(let id) = self { id } else { nil } }

  fileprivate var text: String {
    switch self {
    case .transfer(let id): "\(id)"
    case .identifier(let identifier): identifier
    }
  }
}
