/// The members of a queue. A draft of it shares them, and keeps those that it changes apart.
package struct MemberList: Sendable {
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
    for (id, member) in changes {
      if let member { shelf.replace(member) } else { _ = shelf.remove(id) }
    }
  }

  /// The member with this id; its dependencies are the graph's business and not told.
  package subscript(id: TransferID) -> QueueMachine.Member? {
    layer?.member(id) ?? shelf[id]
  }

  /// Whether there is a member with this id.
  package func contains(_ id: TransferID) -> Bool {
    if let changed = layer?.member(id) { return changed != nil }
    return shelf.contains(id)
  }

  /// Where the member with this id stands.
  package func state(of id: TransferID) -> TransferMachine.State? {
    if let changed = layer?.member(id) { return changed?.state }
    return shelf.state(of: id)
  }

  /// Whether it is queued and waits for something else than a slot.
  func isPostponed(_ id: TransferID) -> Bool {
    if let changed = layer?.member(id) { return changed?.isPostponed ?? false }
    return shelf.isPostponed(id)
  }

  /// Whether its standing says what it waits for.
  func hasWaitReason(_ id: TransferID) -> Bool {
    if let changed = layer?.member(id) { return changed?.facts.standing.waitReason != nil }
    return shelf.hasWaitReason(id)
  }

  /// How it left the way of those behind it; nil as long as it has not.
  func dependencyEnd(of id: TransferID) -> DependencyGraph.End? {
    if let changed = layer?.member(id) {
      return changed.map { $0.end?.dependencyEnd } ?? .removed
    }
    return shelf.dependencyEnd(of: id)
  }

  /// In no order. Of a draft: without its changes.
  package var values: some RandomAccessCollection<QueueMachine.Member> { shelf.values }

  /// Each id with its place in the list, in no order: less work than `values`. Of a draft: without its changes.
  package var ranks: some RandomAccessCollection<(rank: Int64, id: TransferID)> { shelf.ranks }

  /// How many are queued. Of a draft: without its changes.
  package var queued: Int { shelf.queued }

  /// Adds a member, or changes it.
  mutating func put(_ member: QueueMachine.Member) {
    if layer == nil { shelf.put(member) } else { layer?.set(member.facts.id, to: member) }
  }

  /// It is of another host from now on.
  mutating func move(_ id: TransferID, toHost host: String?) {
    guard var member = self[id] else { return }
    member.facts.host = host
    if layer == nil { shelf.replace(member) } else { layer?.set(id, to: member) }
  }

  /// Takes it out.
  mutating func remove(_ id: TransferID) -> QueueMachine.Member? {
    guard layer != nil else { return shelf.remove(id) }
    guard let member = self[id] else { return nil }
    layer?.set(id, to: nil)
    return member
  }

  /// As `MemberShelf.open`; not of a draft.
  mutating func open(_ id: TransferID, near place: Int, isReady: Bool) -> MemberShelf.Opened {
    shelf.open(id, near: place, isReady: isReady)
  }
}

extension MemberList {
  /// What a draft changes, in the order in which it did first; nil is a removal. Most decisions change one or two members.
  struct Layer: Sendable, Sequence {
    private var changes: [(id: TransferID, member: QueueMachine.Member?)] = []
    /// Where each is, once there are many.
    private var places: [TransferID: Int] = [:]
    private static let few = 8

    func member(_ id: TransferID) -> QueueMachine.Member?? {
      place(of: id).map { changes[$0].member }
    }

    mutating func set(_ id: TransferID, to member: QueueMachine.Member?) {
      if let place = place(of: id) { return changes[place].member = member }
      changes.append((id, member))
      guard changes.count > Self.few else { return }
      if places.isEmpty {
        for (place, change) in changes.enumerated() { places[change.id] = place }
      } else {
        places[id] = changes.count - 1
      }
    }

    private func place(of id: TransferID) -> Int? {
      changes.count > Self.few ? places[id] : changes.firstIndex { $0.id == id }
    }

    func makeIterator() -> some IteratorProtocol<(id: TransferID, member: QueueMachine.Member?)> {
      changes.makeIterator()
    }
  }
}
