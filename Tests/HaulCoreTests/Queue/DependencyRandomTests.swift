import HaulCore
import Testing

/// A naive graph that checks everything each time.
private struct NaiveGraph {
  typealias Node = DependencyGraph.Node

  /// With or without dependencies, in the order of adding.
  var nodes: [Node] = []
  /// How every transfer ended, also those outside the graph.
  var ends: [TransferID: DependencyGraph.End] = [:]

  func node(_ id: TransferID) -> Node? { nodes.first { $0.id == id } }

  func dependents(of id: TransferID) -> Set<TransferID> {
    Set(nodes.filter { $0.after.contains(id) }.map(\.id))
  }

  func verdict(of id: TransferID) -> DependencyGraph.Readiness {
    guard let node = node(id) else { return .ready }
    let unmet = node.after.first { ends[$0] != nil && ends[$0] != .completed }
    switch node.policy {
    case .block: if let unmet { return .blocked(by: unmet) }
    case .skip: if let unmet { return .skipped(by: unmet) }
    case .run: break
    }
    return node.after.first { ends[$0] == nil }.map { .waiting(on: $0) } ?? .ready
  }

  /// Those that a graph must remember.
  var remembered: Set<TransferID> {
    Set(nodes.filter { !$0.after.isEmpty }.flatMap { [$0.id] + $0.after })
  }

  /// Repeatedly removes transfers that wait for no remaining one; those in cycles remain.
  var hasCycle: Bool {
    var left = nodes
    while true {
      let stuck = Set(left.map(\.id))
      let next = left.filter { !stuck.isDisjoint(with: $0.after) }
      if next.count == left.count { return !left.isEmpty }
      left = next
    }
  }

  func isCycle(_ ids: [TransferID]) -> Bool {
    !ids.isEmpty && Set(ids).count == ids.count
      && ids.indices.allSatisfy {
        node(ids[$0])?.after.contains(ids[($0 + 1) % ids.count]) == true
      }
  }

  mutating func put(_ changed: [Node]) {
    for node in changed {
      if let index = nodes.firstIndex(where: { $0.id == node.id }) {
        nodes[index] = node
      } else {
        nodes.append(node)
      }
    }
  }
}

/// A seeded walk of a graph and the naive one, compared.
private struct Walk {
  /// The dependents that the graph named for a change.
  private struct Report {
    let id: TransferID
    let concerned: [TransferID]
  }

  private var generator: SplitMix64
  private var graph = DependencyGraph()
  private var model = NaiveGraph()
  private var outsiders: [TransferID] = []
  private(set) var refused = 0

  init(seed: UInt64) {
    generator = SplitMix64(seed: seed)
    for end in [nil, .completed, .failed, .cancelled, .removed] as [DependencyGraph.End?] {
      let id = TransferID(using: &generator)
      outsiders.append(id)
      model.ends[id] = end
    }
  }

  /// Whether both agreed at every step.
  mutating func run(steps: Int) -> Bool {
    for _ in 0..<steps where !step() { return false }
    return true
  }

  private mutating func step() -> Bool {
    let before = verdicts()
    var reported: Report?
    switch generator.next() % 12 {
    case 0...2: guard add() else { return false }
    case 3, 4: guard set() else { return false }
    case 5...7: reported = end()
    case 8, 9: reported = revive()
    default: reported = remove()
    }
    return agrees() && (reported.map { reportedAll($0, before: before) } ?? true)
  }

  private func verdicts() -> [TransferID: DependencyGraph.Readiness] {
    Dictionary(uniqueKeysWithValues: model.nodes.map { ($0.id, graph.readiness(of: $0.id)) })
  }

  private func agrees() -> Bool {
    model.nodes.allSatisfy { graph.readiness(of: $0.id) == model.verdict(of: $0.id) }
      && graph.count == model.remembered.count
  }

  /// Whether every transfer with a changed verdict was named, none twice, and no unrelated one.
  private func reportedAll(
    _ reported: Report, before: [TransferID: DependencyGraph.Readiness]
  ) -> Bool {
    let concerned = Set(reported.concerned)
    let changed = verdicts().filter { before[$0.key] != $0.value }.keys
    return concerned.count == reported.concerned.count && concerned.isSuperset(of: changed)
      && concerned.isSubset(of: model.dependents(of: reported.id))
  }

  private mutating func node(_ id: TransferID, among others: [TransferID]) -> DependencyGraph.Node {
    let count = [0, 0, 1, 1, 1, 2, 3, 6].randomElement(using: &generator) ?? 0
    let after = (0..<count).compactMap { _ in others.randomElement(using: &generator) }
    let policy = TransferRequest.DependencyPolicy.allCases.randomElement(using: &generator)
    return DependencyGraph.Node(id: id, after: after, policy: policy ?? .block)
  }

  private mutating func add() -> Bool {
    let added = (0..<Int.random(in: 1...4, using: &generator)).map { _ in
      TransferID(using: &generator)
    }
    // If each could depend on all others, most graphs would have cycles.
    let others = outsiders + model.nodes.map(\.id)
    let isMixed = generator.next().isMultiple(of: 3)
    var nodes: [DependencyGraph.Node] = []
    for (index, id) in added.enumerated() {
      nodes.append(node(id, among: others + (isMixed ? added : Array(added.prefix(index)))))
    }
    return put(nodes) { graph, ends throws(DependencyGraph.Cycle) in
      try graph.add(nodes) { ends[$0] }
    }
  }

  private mutating func set() -> Bool {
    guard let id = model.nodes.randomElement(using: &generator)?.id else { return true }
    let changed = node(id, among: outsiders + model.nodes.map(\.id))
    return put([changed]) { graph, ends throws(DependencyGraph.Cycle) in
      try graph.set(changed) { ends[$0] }
    }
  }

  private mutating func put(
    _ nodes: [DependencyGraph.Node],
    _ change: (inout DependencyGraph, [TransferID: DependencyGraph.End]) throws(DependencyGraph
      .Cycle)
      -> Void
  ) -> Bool {
    var changed = model
    changed.put(nodes)
    do {
      try change(&graph, model.ends)
      model = changed
      return !changed.hasCycle
    } catch {
      refused += 1
      return changed.hasCycle && changed.isCycle(error.ids)
    }
  }

  private mutating func pick() -> TransferID? {
    (outsiders + model.nodes.map(\.id)).filter { model.ends[$0] != .removed }
      .randomElement(using: &generator)
  }

  private mutating func end() -> Report? {
    let ends: [DependencyGraph.End] = [.completed, .completed, .failed, .cancelled]
    guard let id = pick(), let end = ends.randomElement(using: &generator) else { return nil }
    model.ends[id] = end
    return Report(id: id, concerned: graph.ended(id, end))
  }

  private mutating func revive() -> Report? {
    guard let id = pick() else { return nil }
    model.ends[id] = nil
    return Report(id: id, concerned: graph.requeued(id))
  }

  private mutating func remove() -> Report? {
    guard let id = model.nodes.randomElement(using: &generator)?.id else { return nil }
    // A completed one stays completed for its dependents.
    if model.ends[id] != .completed { model.ends[id] = .removed }
    model.nodes.removeAll { $0.id == id }
    return Report(id: id, concerned: graph.remove(id))
  }
}

@Suite struct DependencyRandomTests {
  @Test func `Random walks agree with the naive graph`() async {
    var refused = 0
    for seed in UInt64(1)...50 {
      await Task.yield()
      var walk = Walk(seed: seed)
      guard walk.run(steps: 150) else {
        Issue.record("the walk with seed \(seed) went astray")
        return
      }
      refused += walk.refused
    }
    #expect(refused > 50, "too few cycles to prove anything")
  }
}
