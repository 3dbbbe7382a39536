/// Whose each file is that was asked for by its path: one target, one owner, who keeps it until it
/// ends.
///
/// A path is kept as its hash of 64 bits: a list may have a million. Of two paths of one hash,
/// which one in tens of millions of such lists has, the second would be refused.
package struct PathReservations: Sendable {
  private var owners = OverlayDictionary<Int, TransferID>()
  /// Those that have ended and whose target another one has had since.
  private var displaced = OverlayDictionary<TransferID, Int>()
  private var countOnceSwept = 0

  package init() {}

  /// Whether a member has not ended; nil when it is not in the list.
  package typealias IsLive = (TransferID) -> Bool?

  /// Who has it and has not ended; nil when it is free for this one.
  package func holder(
    of target: TargetPath, otherThan id: TransferID?, _ isLive: IsLive
  ) -> TransferID? { holder(of: target.hashValue, otherThan: id, isLive) }

  /// Gives a target to a member, unless a live one has it: then it stands behind.
  package mutating func take(_ target: TargetPath, for id: TransferID, _ isLive: IsLive) {
    take(target.hashValue, for: id, isLive)
    if !owners.isDraft { sweep(isLive) }
  }

  /// It has no target any more, or another one.
  package mutating func letGo(_ target: TargetPath, of id: TransferID) {
    displaced[id] = nil
    if owners[target.hashValue] == id { owners[target.hashValue] = nil }
  }

  /// Whether what lies under its target may be another's.
  package func isDisplaced(_ id: TransferID) -> Bool { displaced[id] != nil }

  /// Who has what this one had before it ended; nil when it may have it again.
  package func successor(of id: TransferID, _ isLive: IsLive) -> TransferID? {
    displaced[id].flatMap { holder(of: $0, otherThan: id, isLive) }
  }

  /// It goes on after its end.
  package mutating func takeBack(for id: TransferID, _ isLive: IsLive) {
    if let hash = displaced[id] { take(hash, for: id, isLive) }
  }

  /// It is not in the list any more.
  package mutating func removed(_ id: TransferID) { displaced[id] = nil }

  private func holder(
    of hash: Int, otherThan id: TransferID?, _ isLive: IsLive
  ) -> TransferID? {
    guard let owner = owners[hash], owner != id, isLive(owner) == true else { return nil }
    return owner
  }

  private mutating func take(_ hash: Int, for id: TransferID, _ isLive: IsLive) {
    guard holder(of: hash, otherThan: id, isLive) == nil else {
      displaced[id] = hash
      return
    }
    if let former = owners[hash], former != id, isLive(former) != nil { displaced[former] = hash }
    owners[hash] = id
    displaced[id] = nil
  }

  /// Forgets those of members that were removed, now and then.
  private mutating func sweep(_ isLive: IsLive) {
    guard owners.unlayered.count > 2 * countOnceSwept + 1024 else { return }
    owners.unlayered = owners.unlayered.filter { isLive($0.value) != nil }
    countOnceSwept = owners.unlayered.count
  }
}

/// Drafts.
extension PathReservations {
  /// What a draft changes.
  struct Layer: Sendable {
    fileprivate let owners: OverlayDictionary<Int, TransferID>.Layer
    fileprivate let displaced: OverlayDictionary<TransferID, Int>.Layer
  }

  /// Keeps changes in a layer from now on, which is empty. O(1).
  mutating func becomeDraft() {
    owners.becomeDraft()
    displaced.becomeDraft()
  }

  /// What the draft has changed so far.
  var changes: Layer { Layer(owners: owners.changes, displaced: displaced.changes) }

  /// Makes the changes of a draft of this. O(changes), and now and then O(targets).
  mutating func apply(_ changes: Layer, _ isLive: IsLive) {
    owners.apply(changes.owners)
    displaced.apply(changes.displaced)
    sweep(isLive)
  }
}
