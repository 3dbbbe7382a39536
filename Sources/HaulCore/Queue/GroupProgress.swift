/// The groups, their numbers of members, and how those ended.
///
/// A group is complete when all its members have ended, in whatever way. The change that completes
/// it reports that once; reopening the group allows another report. A group is deleted when its
/// last member is removed from the list.
package struct GroupProgress: Sendable {
  /// The members of one group.
  package struct Counts: Sendable, Hashable {
    package fileprivate(set) var members = 0
    package fileprivate(set) var completed = 0
    package fileprivate(set) var failed = 0
    package fileprivate(set) var cancelled = 0

    package var ended: Int { completed + failed + cancelled }
    package var isComplete: Bool { members > 0 && ended == members }

    fileprivate subscript(state: TransferResult.State) -> Int {
      get {
        switch state {
        case .completed: completed
        case .failed: failed
        case .cancelled: cancelled
        }
      }
      set {
        switch state {
        case .completed: completed = newValue
        case .failed: failed = newValue
        case .cancelled: cancelled = newValue
        }
      }
    }
  }

  var groups = OverlayDictionary<String, Counts>()

  package init() {}

  /// The groups with members, sorted by name. O(n log n).
  package var names: [String] { groups.unlayered.keys.sorted() }

  /// The members of a group; nil if there is no such group.
  package func counts(of group: String) -> Counts? { groups[group] }

  /// How the members of a complete group ended.
  func end(of group: String) -> GroupEnd? {
    groups[group].map {
      GroupEnd(
        name: group, completed: $0.completed, failed: $0.failed, cancelled: $0.cancelled)
    }
  }

  /// Adds a member that has not ended; this reopens a complete group.
  package mutating func added(_ group: String) {
    var counts = groups[group] ?? Counts()
    counts.members += 1
    groups[group] = counts
  }

  /// Notes that a member has ended.
  /// - Returns: whether that completes the group.
  package mutating func ended(_ group: String, _ state: TransferResult.State) -> Bool {
    guard let counts = groups[group], !counts.isComplete else { return false }
    groups[group]?[state] += 1
    return isComplete(group)
  }

  /// Notes that a member that had ended this way is requeued; this reopens a complete group.
  package mutating func requeued(_ group: String, from state: TransferResult.State) {
    guard let counts = groups[group], counts[state] > 0 else { return }
    groups[group]?[state] -= 1
  }

  /// Removes a member, which has left the list.
  /// - Parameter state: how it had ended; nil if it had not.
  /// - Returns: whether that completes the group.
  package mutating func removed(_ group: String, _ state: TransferResult.State?) -> Bool {
    guard let counts = groups[group] else { return false }
    if let state {
      guard counts[state] > 0 else { return false }
      groups[group]?[state] -= 1
    } else {
      guard !counts.isComplete else { return false }
    }
    groups[group]?.members -= 1
    if groups[group]?.members == 0 { groups[group] = nil }
    return !counts.isComplete && isComplete(group)
  }

  private func isComplete(_ group: String) -> Bool { groups[group]?.isComplete == true }
}
