/// The members of a queue. A draft of it shares them, and keeps those that it changes apart.
package struct MemberList: Sendable {
  /// What a draft changes.
  struct Layer: Sendable {
    fileprivate var changed = MemberShelf()
    fileprivate var removed: Set<TransferID> = []
  }

  private var shelf: MemberShelf
  /// Nil unless this is a draft.
  private var layer: Layer?

  init(_ shelf: MemberShelf = MemberShelf()) { self.shelf = shelf }

  /// The same, with an empty layer. O(1).
  var draft: Self {
    var draft = self
    draft.layer = Layer()
    return draft
  }

  /// What the draft has changed so far.
  var changes: Layer { layer ?? Layer() }

  /// Makes the changes of a draft of this list. O(changes).
  mutating func apply(_ changes: Layer) {
    for member in changes.changed.values { shelf.replace(member) }
    for id in changes.removed.sorted() { _ = shelf.remove(id) }
  }

  /// Calls `body` with the part that has the member.
  private func read<Result>(
    _ id: TransferID, _ body: (borrowing MemberShelf) -> Result?
  ) -> Result? {
    guard layer != nil else { return body(shelf) }
    if let changed = layer?.changed, changed.contains(id) { return body(changed) }
    return layer?.removed.contains(id) == true ? nil : body(shelf)
  }

  /// The member with this id; its dependencies are the graph's business and not told.
  package subscript(id: TransferID) -> QueueMachine.Member? { read(id) { $0[id] } }

  /// Whether there is a member with this id.
  package func contains(_ id: TransferID) -> Bool { read(id) { $0.contains(id) } ?? false }

  /// Where the member with this id stands.
  package func state(of id: TransferID) -> TransferMachine.State? { read(id) { $0.state(of: id) } }

  /// Whether it is queued and waits for the time of its next attempt.
  func isPostponed(_ id: TransferID) -> Bool { read(id) { $0.isPostponed(id) } ?? false }

  /// Whether it is known when its next attempt is due.
  func hasRetry(_ id: TransferID) -> Bool { read(id) { $0.hasRetry(id) } ?? false }

  /// How it left the way of those behind it; nil as long as it has not.
  func dependencyEnd(of id: TransferID) -> DependencyGraph.End? {
    contains(id) ? read(id) { $0.dependencyEnd(of: id) } : .removed
  }

  /// In no order. Of a draft: without its changes.
  package var values: some RandomAccessCollection<QueueMachine.Member> { shelf.values }

  /// Each id with its place in the list, in no order: less work than `values`. Of a draft: without its changes.
  package var ranks: some RandomAccessCollection<(rank: Int64, id: TransferID)> { shelf.ranks }

  /// How many are queued. Of a draft: without its changes.
  package var queued: Int { shelf.queued }

  /// Adds a member, or changes it.
  mutating func put(_ member: QueueMachine.Member) {
    if layer == nil { shelf.put(member) } else { layer?.changed.put(member) }
  }

  /// It is of another host from now on.
  mutating func move(_ id: TransferID, toHost host: String?) {
    guard var member = self[id] else { return }
    member.facts.host = host
    if layer == nil { shelf.replace(member) } else { layer?.changed.replace(member) }
  }

  /// Takes it out.
  mutating func remove(_ id: TransferID) -> QueueMachine.Member? {
    guard layer != nil else { return shelf.remove(id) }
    guard let member = self[id] else { return nil }
    _ = layer?.changed.remove(id)
    layer?.removed.insert(id)
    return member
  }

  /// As `MemberShelf.open`; not of a draft.
  mutating func open(_ id: TransferID, near place: Int, isReady: Bool) -> MemberShelf.Opened {
    shelf.open(id, near: place, isReady: isReady)
  }
}
