/// An exact path belongs to one member until it ends.
extension QueueMachine {
  /// Whether another transfer may have replaced its file.
  package func isDisplaced(_ id: TransferID) -> Bool { targets.isDisplaced(id) }

  /// - Throws: `in-use` if two members would have the same file.
  func refuseTakenTargets(_ additions: [Addition]) throws(TransferError) {
    var new: Set<FilePath> = []
    for addition in additions {
      guard let target = addition.request.exactTarget else { continue }
      guard new.insert(target).inserted else {
        throw Self.targetTakenError(target, of: addition.request, by: nil)
      }
      try refuseTakenTarget(of: addition.request, for: addition.id)
    }
  }

  /// - Throws: `in-use` if another member owns its file.
  func refuseTakenTarget(
    of request: TransferRequest, for id: TransferID
  ) throws(TransferError) {
    guard let target = request.exactTarget,
      let other = targets.owner(of: target, otherThan: id, members.isLive)
    else { return }
    throw Self.targetTakenError(target, of: request, by: other)
  }

  mutating func take(_ target: FilePath, for id: TransferID) {
    targets.take(target, for: id, members.isLive)
  }

  mutating func reclaimTarget(of id: TransferID) { targets.reclaim(for: id, members.isLive) }

  /// Why an ended member cannot start again.
  func targetRefusal(
    of id: TransferID, _ command: TransferMachine.Command
  ) -> CommandRefusal? {
    guard command == .retry || command == .restart else { return nil }
    return targets.successor(of: id, members.isLive).map { _ in .targetIsTaken }
  }

  private static func targetTakenError(
    _ target: FilePath, of request: TransferRequest, by other: TransferID?
  ) -> TransferError {
    let whose = other.map { "in use by \($0), which has not ended" } ?? "requested twice"
    let what = request.download?.url.redacted ?? "it"
    return TransferError(.inUse, "\(target.text) is \(whose)", advice: "give \(what) another name")
  }
}

extension MemberList {
  /// Nil when it is not in the list.
  func isLive(_ id: TransferID) -> Bool? {
    switch state(of: id) {
    case nil, .removed: nil
    case .queued, .running, .stopping, .paused: true
    case .failed, .completed, .cancelled: false
    }
  }
}
