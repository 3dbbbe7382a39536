/// The members of a queue. A draft shares them, and stores its changes in a layer.
package struct MemberList: Sendable {
  private var memberTable: CopyOnWriteBox<CompactTransferTable>
  private var isDraft = false
  private var layer = Layer()

  /// The changes of a draft, in order; most decisions change one or two members.
  typealias Layer = OrderedIDDictionary<Change>

  struct Change: Sendable {
    fileprivate var member: QueuedMember
    fileprivate var isRemoved = false
  }

  init(_ memberTable: CompactTransferTable = CompactTransferTable()) {
    self.memberTable = CopyOnWriteBox(memberTable)
  }

  /// Stores later changes in a new layer. O(1).
  mutating func becomeDraft() { (isDraft, layer) = (true, Layer()) }

  /// The changes of the draft so far.
  var changes: Layer { layer }

  /// Applies the changes of a draft of this list. O(changes).
  mutating func apply(_ changes: Layer) {
    for change in changes {
      if change.isRemoved {
        _ = memberTable.value.remove(change.member.id)
      } else {
        memberTable.value.replace(change.member)
      }
    }
  }

  /// The changed value of a member: `.some(nil)` if the draft removed it; nil if the draft did not
  /// change it.
  private func changed<Result>(
    _ id: TransferID, _ body: (QueuedMember) -> Result
  ) -> Result?? {
    layer.index(of: id).map { layer[$0].isRemoved ? nil : body(layer[$0].member) }
  }

  /// The member with this id, without its dependencies, which the graph has.
  package subscript(id: TransferID) -> QueuedMember? {
    changed(id) { $0 } ?? memberTable.value[id]
  }

  /// Whether there is a member with this id.
  package func contains(_ id: TransferID) -> Bool {
    changed(id) { _ in true }.map { $0 != nil } ?? memberTable.value.contains(id)
  }

  /// The state of the member with this id.
  package func state(of id: TransferID) -> TransferMachine.State? {
    changed(id) { $0.state } ?? memberTable.value.state(of: id)
  }

  /// The state to store of the member with this id.
  func stateToStore(of id: TransferID) -> StoredState? {
    changed(id) { $0.stateToStore } ?? memberTable.value[id]?.stateToStore
  }

  /// Whether it is queued and waits for something other than a slot.
  func isPostponed(_ id: TransferID) -> Bool {
    changed(id) { $0.isPostponed }.map { $0 ?? false } ?? memberTable.value.isPostponed(id)
  }

  /// Whether its stored state has a wait reason.
  func hasWaitReason(_ id: TransferID) -> Bool {
    changed(id) { $0.storedState.waitReason != nil }.map { $0 ?? false }
      ?? memberTable.value.hasWaitReason(id)
  }

  /// How it ended, for its dependents; nil until it has.
  func dependencyEnd(of id: TransferID) -> DependencyGraph.End? {
    changed(id) { $0.end?.dependencyEnd }.map { $0 ?? .removed }
      ?? memberTable.value.dependencyEnd(of: id)
  }

  /// In no particular order. For a draft: without its changes.
  package var values: some RandomAccessCollection<QueuedMember> { memberTable.value.values }

  /// Each id with its rank, in no particular order; cheaper than `values`. For a draft: without its
  /// changes.
  package var ranks: some RandomAccessCollection<(rank: Int64, id: TransferID)> {
    memberTable.value.ranks
  }

  /// The stored pauses of hosts. For a draft: without its changes.
  var hostPauses: [(host: String, until: Double)] { memberTable.value.hostPauses }

  /// The number of queued members. For a draft: without its changes.
  package var queued: Int { memberTable.value.queued }

  /// Adds a member, or changes it.
  mutating func put(_ member: QueuedMember) {
    if isDraft {
      set(member.id, Change(member: member))
    } else {
      memberTable.value.put(member)
    }
  }

  /// Changes a member in place.
  mutating func change<Result>(
    _ id: TransferID, _ body: (inout QueuedMember) -> Result
  ) -> Result? {
    guard isDraft else {
      guard var member = memberTable.value[id] else { return nil }
      defer { memberTable.value.put(member) }
      return body(&member)
    }
    if let index = layer.index(of: id) {
      return layer[index].isRemoved ? nil : body(&layer[index].member)
    }
    let memberTable = memberTable
    guard let member = memberTable.value[id] else { return nil }
    return body(&layer[layer.append(id, Change(member: member))].member)
  }

  private mutating func set(_ id: TransferID, _ change: Change) {
    if let index = layer.index(of: id) { layer[index] = change } else { layer.append(id, change) }
  }

  /// Notes that its host or its group has changed.
  mutating func move(_ id: TransferID, toHost host: String?, group: String?) {
    guard var member = self[id] else { return }
    (member.host, member.group) = (host, group)
    if isDraft { set(id, Change(member: member)) } else { memberTable.value.replace(member) }
  }

  /// Removes it.
  mutating func remove(_ id: TransferID) -> QueuedMember? {
    guard isDraft else { return memberTable.value.remove(id) }
    guard let member = self[id] else { return nil }
    set(id, Change(member: member, isRemoved: true))
    return member
  }

  /// As `CompactTransferTable.open`; not for a draft.
  mutating func open(_ id: TransferID, near index: Int, isReady: Bool)
    -> CompactTransferTable.Opened
  {
    memberTable.value.open(id, near: index, isReady: isReady)
  }
}
