/// Which transfers wait for which others. A transfer without dependencies and dependents is not
/// stored.
///
/// Only direct dependencies count: a transfer waits after a blocked one, because that one has not
/// ended.
package struct DependencyGraph: Sendable {
  /// How a transfer ended, for its dependents.
  package enum End: Sendable, Hashable { case completed, failed, cancelled, removed }

  /// Whether a transfer may run, judging by its dependencies. Of several ids, it names the first in
  /// the order of its `after`.
  package enum Readiness: Sendable, Hashable {
    case ready
    /// This dependency has not ended yet.
    case waiting(on: TransferID)
    /// This dependency did not complete: the transfer waits until it is retried.
    case blocked(by: TransferID)
    /// This dependency did not complete: the transfer must not run.
    case skipped(by: TransferID)
  }

  /// A transfer and its dependencies.
  package struct Node: Sendable, Hashable {
    package let id: TransferID
    /// A repeated id counts once.
    package let after: [TransferID]
    package let policy: TransferRequest.DependencyPolicy

    package init(
      id: TransferID, after: [TransferID], policy: TransferRequest.DependencyPolicy = .block
    ) {
      self.id = id
      self.after = after
      self.policy = policy
    }
  }

  /// A cycle of transfers: each depends on the next, and the last one on the first.
  package struct Cycle: Error, Hashable, Sendable {
    /// Each id once.
    package let ids: [TransferID]
  }

  private var entries = OverlayDictionary<TransferID, DependencyEntry>()
  private var lastTicket: UInt64 = 0

  package init() {}

  /// How many transfers it stores: those with dependencies or dependents.
  package var count: Int { entries.unlayered.count }

  /// Adds all nodes or none. O(their dependencies), and O(transfers that they reach) if others
  /// already wait for one of them.
  ///
  /// `end` is called for each id that is new here, including the added ones; nil means that it has
  /// not ended. The caller decides whether an unknown id is allowed. `removed` is ignored for an
  /// added id.
  /// - Throws: the cycle that they would close; nothing has changed then.
  package mutating func add(_ nodes: [Node], end: (TransferID) -> End?) throws(Cycle) {
    let changes = nodes.filter { !$0.after.isEmpty || entries[$0.id] != nil }
    guard !changes.isEmpty else { return }
    try refuseCycle(changes)
    let added = Set(nodes.lazy.map(\.id))
    for node in changes {
      unlink(node.id)
      link(node) { id in
        let found = end(id)
        return found == .removed && added.contains(id) ? nil : found
      }
      forgetUnneeded(node.id)
    }
  }

  /// Replaces the dependencies of a node; only its own readiness may change. Costs as `add`.
  /// - Throws: the cycle that they would close; nothing has changed then.
  package mutating func set(_ node: Node, end: (TransferID) -> End?) throws(Cycle) {
    try add([node], end: end)
  }

  /// Notes an end.
  /// - Returns: its dependents, in order of arrival: their verdicts may have changed.
  package mutating func ended(_ id: TransferID, _ end: End) -> [TransferID] {
    end == .removed ? remove(id) : note(end, of: id)
  }

  /// Notes that it is requeued: dependents that have not started wait again.
  /// - Returns: its dependents, started or not, in order of arrival.
  package mutating func requeued(_ id: TransferID) -> [TransferID] {
    note(nil, of: id)
  }

  /// Notes that its dependents do not wait for it any more, whatever becomes of it. O(those and
  /// their dependencies).
  /// - Returns: its dependents, in order of arrival.
  package mutating func satisfyDependents(of id: TransferID) -> [TransferID] {
    let dependents = dependents(of: id)
    for dependent in dependents {
      guard let entry = entries[dependent] else { continue }
      let rest = entry.after.filter { $0 != id }
      // One that nothing else waits for is forgotten, with its end.
      let ends = Dictionary(
        rest.map { ($0, entries[$0]?.end) }, uniquingKeysWith: { first, _ in first })
      unlink(dependent)
      link(Node(id: dependent, after: rest, policy: entry.policy)) { ends[$0] ?? nil }
      forgetUnneeded(dependent)
    }
    return dependents
  }

  /// Notes that it is no longer in the list, and forgets it when it has no dependents.
  ///
  /// Dependents see it as `removed`. If it had completed, it stays completed for them, so that
  /// clearing the list blocks none.
  /// - Returns: its dependents, in order of arrival.
  package mutating func remove(_ id: TransferID) -> [TransferID] {
    guard let entry = entries[id], entry.isListed else { return [] }
    unlink(id)
    let dependents = edges(to: id).map(\.dependent)
    if entry.end != .completed { _ = note(.removed, of: id) }
    entries[id]?.isListed = false
    forgetUnneeded(id)
    return dependents
  }

  /// Whether it may run. O(1).
  package func readiness(of id: TransferID) -> Readiness {
    entries[id]?.readiness ?? .ready
  }

  /// The same transfers, each after those of its dependencies that are among them. O(ids and
  /// their dependencies).
  package func sorted(_ ids: [TransferID]) -> [TransferID] {
    guard count > 0 else { return ids }
    var (missing, sorted) = (Set(ids), [TransferID]())
    for id in ids {
      var path = [id]
      while let last = path.last {
        let before = missing.contains(last) ? entries[last]?.after ?? [] : []
        let first = before.filter(missing.contains)
        path += first
        guard first.isEmpty else { continue }
        path.removeLast()
        if missing.remove(last) != nil { sorted.append(last) }
      }
    }
    return sorted
  }

  /// Its dependents, in order of arrival.
  package func dependents(of id: TransferID) -> [TransferID] {
    edges(to: id).map(\.dependent)
  }
}

extension DependencyGraph {
  /// A cycle with older nodes needs one of them to wait for a changed node. Otherwise only changed
  /// nodes are searched, so a chain that grows at its end costs little.
  private func refuseCycle(_ changes: [Node]) throws(Cycle) {
    var after: [TransferID: [TransferID]] = [:]
    for node in changes { after[node.id] = node.after }
    let isWaitedFor = changes.contains { (entries[$0.id]?.dependents ?? 0) > 0 }
    let ids = DependencyCycle.search(from: changes.map(\.id)) { id in
      after[id] ?? (isWaitedFor ? entries[id]?.after : nil) ?? []
    }
    if let ids { throw Cycle(ids: ids) }
  }

  private mutating func link(_ node: Node, end: (TransferID) -> End?) {
    guard !node.after.isEmpty else { return }
    enter(node.id, end: end)
    lastTicket += 1
    var seen: Set<TransferID> = []
    let after = node.after.count == 1 ? node.after : node.after.filter { seen.insert($0).inserted }
    var ends: [End?] = []
    for (index, dependency) in after.enumerated() {
      enter(dependency, end: end)
      entries[dependency]?.edges.append(
        DependencyEntry.Edge(dependent: node.id, index: index, ticket: lastTicket))
      entries[dependency]?.dependents += 1
      ends.append(entries[dependency]?.end)
    }
    entries[node.id]?.wait(for: after, ends: ends, policy: node.policy, ticket: lastTicket)
  }

  private mutating func enter(_ id: TransferID, end: (TransferID) -> End?) {
    guard entries[id] == nil else { return }
    entries[id] = DependencyEntry(end: end(id))
  }

  /// Removes its dependencies. Its edges stay until most edges are outdated.
  private mutating func unlink(_ id: TransferID) {
    guard let after = entries[id]?.after, !after.isEmpty else { return }
    entries[id]?.waitForNone()
    for dependency in after {
      entries[dependency]?.dependents -= 1
      forgetUnneeded(dependency)
      guard let entry = entries[dependency], entry.edges.count > 2 * entry.dependents + 8
      else { continue }
      let current = ChunkedArray(edges(to: dependency))
      entries[dependency]?.edges = current
    }
  }

  private mutating func forgetUnneeded(_ id: TransferID) {
    guard let entry = entries[id], entry.dependents == 0, entry.after.isEmpty else { return }
    entries[id] = nil
  }

  private func edges(to id: TransferID) -> [DependencyEntry.Edge] {
    entries[id]?.edges.filter { entries[$0.dependent]?.ticket == $0.ticket } ?? []
  }

  /// - Returns: the transfers whose readiness may have changed; none if the change has no effect.
  private mutating func note(_ end: End?, of id: TransferID) -> [TransferID] {
    guard let entry = entries[id], entry.isListed else { return [] }
    entries[id]?.end = end
    guard DependencyEntry.DependencyStatus(entry.end) != DependencyEntry.DependencyStatus(end)
    else {
      return []
    }
    let edges = edges(to: id)
    for edge in edges {
      entries[edge.dependent]?.note(DependencyEntry.DependencyStatus(end), at: edge.index)
    }
    return edges.map(\.dependent)
  }
}

/// Drafts of the graph.
extension DependencyGraph {
  /// What a draft changes.
  struct Layer: Sendable {
    fileprivate let entries: OverlayDictionary<TransferID, DependencyEntry>.Layer
    fileprivate let lastTicket: UInt64
  }

  /// Stores later changes in a new layer. O(1).
  mutating func becomeDraft() { entries.becomeDraft() }

  /// The changes of the draft so far.
  var changes: Layer { Layer(entries: entries.changes, lastTicket: lastTicket) }

  /// Applies the changes of a draft of this graph. O(changes).
  mutating func apply(_ changes: Layer) {
    entries.apply(changes.entries)
    lastTicket = changes.lastTicket
  }
}
