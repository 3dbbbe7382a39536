/// Who must wait for whom. It knows nothing else about transfers, and nothing at all of one that
/// waits for none and that none waits for.
///
/// Only dependencies themselves count, never what those depend on: one behind a blocked one waits,
/// as that one has not ended.
package struct DependencyGraph: Sendable {
  /// How a transfer left the way of those behind it.
  package enum End: Sendable, Hashable { case completed, failed, cancelled, removed }

  /// Whether one may run, as far as its dependencies go; of several ids the first in the order of
  /// its `after`.
  package enum Verdict: Sendable, Hashable {
    case ready
    /// One that has not ended yet.
    case waiting(on: TransferID)
    /// One that did not complete: it waits until that is retried.
    case blocked(by: TransferID)
    /// One that did not complete: it is not to run.
    case skipped(by: TransferID)
  }

  /// A transfer, and what must be completed first.
  package struct Node: Sendable, Hashable {
    package let id: TransferID
    /// One that is named twice counts once.
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

  /// A circle of transfers: each depends on the next, and the last one on the first.
  package struct Cycle: Error, Hashable, Sendable {
    /// Each id once.
    package let ids: [TransferID]
  }

  private var entries = OverlayDictionary<TransferID, DependencyEntry>()
  private var lastTicket: UInt64 = 0

  package init() {}

  /// How many transfers it must remember: those with dependencies, and those that are one.
  package var count: Int { entries.unlayered.count }

  /// Adds all of them or none. O(their dependencies), and as much again as they reach if others
  /// wait for one of them already.
  ///
  /// `end` is asked about each id that is new here, the added ones included: nil says that it has
  /// not ended. Whether an unknown id is allowed is the caller's business; only of one that is
  /// being added `removed` is not believed.
  /// - Throws: the circle that they would close.
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

  /// Gives other dependencies to one that is there; its verdict may be another then, that of no
  /// other one. Costs as `add`.
  /// - Throws: the circle that they would close; nothing has changed then.
  package mutating func set(_ node: Node, end: (TransferID) -> End?) throws(Cycle) {
    try add([node], end: end)
  }

  /// Notes an end.
  /// - Returns: whom it concerns, in the order in which they came behind it: their verdict may be
  ///   another now.
  package mutating func ended(_ id: TransferID, _ end: End) -> [TransferID] {
    end == .removed ? remove(id) : note(end, of: id)
  }

  /// Notes that it is queued again: those behind it that have not begun wait again.
  /// - Returns: whom it concerns, begun or not, in the order in which they came behind it.
  package mutating func revived(_ id: TransferID) -> [TransferID] {
    note(nil, of: id)
  }

  /// Notes that it is not in the list any more, and forgets it when nobody needs it.
  ///
  /// Those behind it see it as `removed`; but one that had completed stays so for them: to clear
  /// the list stops nobody.
  /// - Returns: whom it concerns, in the order in which they came behind it.
  package mutating func remove(_ id: TransferID) -> [TransferID] {
    guard let entry = entries[id], entry.isListed else { return [] }
    unlink(id)
    let dependents = edges(to: id).map(\.dependent)
    if entry.end != .completed { _ = note(.removed, of: id) }
    entries[id]?.isListed = false
    forgetUnneeded(id)
    return dependents
  }

  /// Whether it may run. O(1), whatever it depends on.
  package func verdict(of id: TransferID) -> Verdict {
    entries[id]?.verdict ?? .ready
  }

  /// Those that depend on it, in the order in which they came behind it.
  package func dependents(of id: TransferID) -> [TransferID] {
    edges(to: id).map(\.dependent)
  }
}

extension DependencyGraph {
  /// Only what the changed ones reach can lead back to them; and what was here before cannot,
  /// unless one of it waits for one of them. So a chain that grows at its end is not walked each
  /// time.
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

  /// Takes its dependencies from it. Its edges are left behind and dropped when they are the
  /// majority.
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

  /// - Returns: those whose verdict may be another: none if it makes no difference to anybody how
  ///   it stands now.
  private mutating func note(_ end: End?, of id: TransferID) -> [TransferID] {
    guard let entry = entries[id], entry.isListed else { return [] }
    entries[id]?.end = end
    guard DependencyEntry.Fulfilment(entry.end) != DependencyEntry.Fulfilment(end) else {
      return []
    }
    let edges = edges(to: id)
    for edge in edges {
      entries[edge.dependent]?.note(DependencyEntry.Fulfilment(end), at: edge.index)
    }
    return edges.map(\.dependent)
  }
}

/// Drafts.
extension DependencyGraph {
  /// What a draft changes.
  struct Layer: Sendable {
    fileprivate let entries: OverlayDictionary<TransferID, DependencyEntry>.Layer
    fileprivate let lastTicket: UInt64
  }

  /// Keeps changes in a layer from now on, which is empty. O(1).
  mutating func becomeDraft() { entries.becomeDraft() }

  /// What the draft has changed so far.
  var changes: Layer { Layer(entries: entries.changes, lastTicket: lastTicket) }

  /// Makes the changes of a draft of this graph. O(changes).
  mutating func apply(_ changes: Layer) {
    entries.apply(changes.entries)
    lastTicket = changes.lastTicket
  }
}
