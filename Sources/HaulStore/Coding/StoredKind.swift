import HaulCore

/// The kind of a state change as a number, which never changes, and its details as text.
struct StoredKind: Hashable {
  var code: Int
  var detail: String?

  static let finished = 7
  static let removed = 8
  private static let moved = 9

  /// - Throws: `internal` for an event that is no state change.
  init(_ kind: TransferEvent.Kind, _ coding: RowCoding) throws {
    switch kind {
    case .added(let target): (code, detail) = (0, target)
    case .paused(let initiator): (code, detail) = (2, initiator.rawValue)
    case .resumed(let initiator): (code, detail) = (3, initiator.rawValue)
    case .finished(let result):
      (code, detail) = (Self.finished, try coding.encode(StoredResult(result)))
    case .removed: (code, detail) = (Self.removed, nil)
    case .moved: (code, detail) = (Self.moved, nil)
    case .phase, .attempt, .limited, .connections, .progress, .target, .waiting, .snapshot:
      throw TransferError(
        .internal,
        "the event log was given an event of a kind that it does not store", advice: "report this")
    }
  }

  init(code: Int, detail: String?) { (self.code, self.detail) = (code, detail) }

  /// The kind, and the group that this end completes.
  /// - Throws: `io` for a value that this version does not know.
  func kind(
    _ coding: RowCoding
  ) throws(TransferError) -> (kind: TransferEvent.Kind, groupEnd: GroupEnd?) {
    switch code {
    case 0: return (.added(target: detail), nil)
    case 2: return (.paused(by: try initiator()), nil)
    case 3: return (.resumed(by: try initiator()), nil)
    case Self.finished:
      let form = try coding.decode(StoredResult.self, detail ?? "", "result")
      return (.finished(try form.result()), form.group)
    case Self.removed: return (.removed, nil)
    case Self.moved: return (.moved, nil)
    default: throw .unreadable("a kind of event")
    }
  }

  private func initiator() throws(TransferError) -> TransferEvent.Initiator {
    guard let initiator = detail.flatMap(TransferEvent.Initiator.init) else {
      throw .unreadable("the initiator of a pause")
    }
    return initiator
  }
}
