import HaulCore

/// The kind of an event as a number, which never changes, and its details as text.
///
/// Frequent kinds use plain text, the others JSON.
struct StoredKind: Hashable {
  var code: Int
  var detail: String?

  static let finished = 7
  static let removed = 8
  private static let moved = 9

  /// Several details.
  private struct Detail: Codable {
    var phase: String?
    var reason: String?
    var number: Int?
    var rate: Double?
    var delay: StoredDuration?
    var error: StoredError?
  }

  /// - Throws: `internal` for an event that the log cannot hold.
  init(_ kind: TransferEvent.Kind, _ coding: RowCoding) throws {
    switch kind {
    case .added(let target): (code, detail) = (0, target)
    case .phase(let phase, let reason):
      (code, detail) = (1, try coding.encode(Detail(phase: phase.rawValue, reason: reason)))
    case .paused(let initiator): (code, detail) = (2, initiator.rawValue)
    case .resumed(let initiator): (code, detail) = (3, initiator.rawValue)
    case .attempt(let number, let error, let delay):
      let form = Detail(
        number: number, delay: StoredDuration(delay), error: StoredError(error))
      (code, detail) = (4, try coding.encode(form))
    case .limited(let connections, let error):
      (code, detail) = (
        5, try coding.encode(Detail(number: connections, error: StoredError(error)))
      )
    case .connections(let choice):
      let form = Detail(
        reason: choice.reason.rawValue, number: choice.connections, rate: choice.rate)
      (code, detail) = (6, try coding.encode(form))
    case .finished(let result):
      (code, detail) = (Self.finished, try coding.encode(StoredResult(result)))
    case .removed: (code, detail) = (Self.removed, nil)
    case .moved: (code, detail) = (Self.moved, nil)
    case .progress, .target, .waiting, .snapshot:
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
    guard code == Self.finished else { return (try otherKind(coding), nil) }
    let form = try coding.decode(StoredResult.self, detail ?? "", "result")
    return (.finished(try form.result()), form.group)
  }

  private func otherKind(_ coding: RowCoding) throws(TransferError) -> TransferEvent.Kind {
    switch code {
    case 0: return .added(target: detail)
    case 2: return .paused(by: try initiator())
    case 3: return .resumed(by: try initiator())
    case Self.removed: return .removed
    case Self.moved: return .moved
    default:
      let form = try coding.decode(Detail.self, detail ?? "", "kind of event")
      guard let kind = try kind(form) else { throw .unreadable("a kind of event") }
      return kind
    }
  }

  private func kind(_ form: Detail) throws(TransferError) -> TransferEvent.Kind? {
    switch code {
    case 1:
      guard let phase = form.phase.flatMap(TransferEvent.Phase.init) else { return nil }
      return .phase(phase, reason: form.reason)
    case 4:
      guard let number = form.number, let error = form.error, let delay = form.delay else {
        return nil
      }
      return .attempt(number: number, error: try error.error(), delay: delay.duration)
    case 5:
      guard let number = form.number, let error = form.error else { return nil }
      return .limited(connections: number, error: try error.error())
    case 6:
      guard let number = form.number,
        let reason = form.reason.flatMap(ConnectionChoice.Reason.init)
      else { return nil }
      return .connections(ConnectionChoice(number, reason, rate: form.rate))
    default: return nil
    }
  }

  private func initiator() throws(TransferError) -> TransferEvent.Initiator {
    guard let initiator = detail.flatMap(TransferEvent.Initiator.init) else {
      throw .unreadable("the initiator of a pause")
    }
    return initiator
  }
}
