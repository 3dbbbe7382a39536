/// The changes that a decision makes to a queue.
struct QueueChanges: Sendable {
  fileprivate let members: MemberList.Layer
  fileprivate let groups: OverlayDictionary<String, GroupProgress.Counts>.Layer
  fileprivate let graph: DependencyGraph.Layer
  fileprivate let identifiers: OverlayDictionary<String, TransferID>.Layer
  fileprivate let targets: PathReservations.Layer
  fileprivate let rest: CopiedState

  /// State that is small enough to copy.
  struct CopiedState: Sendable {
    let outstandingCount: Int
    let ranks: RankRange
    let toRecheck: [TransferID]
    let lastEvent: Int
    let lastStartRequest: Int64
  }
}

/// Makes decisions on a draft. The queue changes when the decision was stored; a decision that is
/// not stored is dropped.
extension QueueMachine {
  /// Runs `body` on a draft of the queue, and starts what has a slot then; an error leaves no
  /// changes. O(changes).
  /// - Parameter permission: nil if nothing may start.
  package func decide<Result, Failure: Error>(
    _ decision: inout QueueDecision, starting permission: StartPermission? = nil,
    _ body: (inout QueueMachine, inout QueueDecision) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var draft = draft
    let result = try body(&draft, &decision)
    if let permission { draft.start(permission, &decision) }
    decision.changes = draft.changes
    return result
  }

  /// Applies the newest decision, once it is stored. O(changes).
  package mutating func apply(_ decision: QueueDecision) {
    guard let changes = decision.changes else { return }
    apply(changes.members, changes.rest)
    groups.groups.apply(changes.groups)
    graph.apply(changes.graph)
    identifiers.apply(changes.identifiers)
    targets.apply(changes.targets, members.isLive)
  }

  private var changes: QueueChanges {
    QueueChanges(
      members: members.changes, groups: groups.groups.changes, graph: graph.changes,
      identifiers: identifiers.changes, targets: targets.changes,
      rest: .init(
        outstandingCount: outstandingCount, ranks: ranks, toRecheck: toRecheck,
        lastEvent: lastEvent,
        lastStartRequest: lastStartRequest))
  }
}
