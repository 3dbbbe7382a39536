/// Which transfer owns each target path: one owner, until it ends.
///
/// A path is stored as a 64-bit hash, because a list may have a million paths. If two paths had the
/// same hash, the second would be refused: this happens in one of tens of millions of such lists.
package struct PathReservations: Sendable {
  private var owners = OverlayDictionary<Int, TransferID>()
  /// Ended transfers whose target has since had another owner.
  private var displaced = OverlayDictionary<TransferID, Int>()
  private var countOnceSwept = 0

  package init() {}

  /// Whether a member has not ended; nil when it is not in the list.
  package typealias IsLive = (TransferID) -> Bool?

  /// The owner, if it has not ended; nil if the path is free for this transfer.
  package func owner(
    of target: FilePath, otherThan id: TransferID?, _ isLive: IsLive
  ) -> TransferID? { owner(of: target.hashValue, otherThan: id, isLive) }

  /// Gives a target to a transfer, unless a live one owns it.
  package mutating func take(_ target: FilePath, for id: TransferID, _ isLive: IsLive) {
    take(target.hashValue, for: id, isLive)
    if !owners.isDraft { sweep(isLive) }
  }

  /// Removes this target from a transfer.
  package mutating func release(_ target: FilePath, of id: TransferID) {
    displaced[id] = nil
    if owners[target.hashValue] == id { owners[target.hashValue] = nil }
  }

  /// Whether another transfer may have replaced its file.
  package func isDisplaced(_ id: TransferID) -> Bool { displaced[id] != nil }

  /// The present owner of the target that this transfer had before it ended; nil if the path is
  /// free.
  package func successor(of id: TransferID, _ isLive: IsLive) -> TransferID? {
    displaced[id].flatMap { owner(of: $0, otherThan: id, isLive) }
  }

  /// Gives its former target to a transfer again, after its end.
  package mutating func reclaim(for id: TransferID, _ isLive: IsLive) {
    if let hash = displaced[id] { take(hash, for: id, isLive) }
  }

  /// Forgets a transfer that is no longer in the list.
  package mutating func removed(_ id: TransferID) { displaced[id] = nil }

  private func owner(
    of hash: Int, otherThan id: TransferID?, _ isLive: IsLive
  ) -> TransferID? {
    guard let owner = owners[hash], owner != id, isLive(owner) == true else { return nil }
    return owner
  }

  private mutating func take(_ hash: Int, for id: TransferID, _ isLive: IsLive) {
    guard owner(of: hash, otherThan: id, isLive) == nil else {
      displaced[id] = hash
      return
    }
    if let former = owners[hash], former != id, isLive(former) != nil { displaced[former] = hash }
    owners[hash] = id
    displaced[id] = nil
  }

  /// Forgets the entries of removed members, once there are many.
  private mutating func sweep(_ isLive: IsLive) {
    guard owners.unlayered.count > 2 * countOnceSwept + 1024 else { return }
    owners.unlayered = owners.unlayered.filter { isLive($0.value) != nil }
    countOnceSwept = owners.unlayered.count
  }
}

/// Drafts of the reservations.
extension PathReservations {
  /// The changes of a draft.
  struct Layer: Sendable {
    fileprivate let owners: OverlayDictionary<Int, TransferID>.Layer
    fileprivate let displaced: OverlayDictionary<TransferID, Int>.Layer
  }

  /// Turns this value into a draft: later changes go to a new layer. O(1).
  mutating func becomeDraft() {
    owners.becomeDraft()
    displaced.becomeDraft()
  }

  /// The changes of the draft so far.
  var changes: Layer { Layer(owners: owners.changes, displaced: displaced.changes) }

  /// Applies the changes of a draft. O(changes), and sometimes O(targets).
  mutating func apply(_ changes: Layer, _ isLive: IsLive) {
    owners.apply(changes.owners)
    displaced.apply(changes.displaced)
    sweep(isLive)
  }
}
