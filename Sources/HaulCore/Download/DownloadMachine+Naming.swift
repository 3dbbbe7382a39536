/// File names from the server: the first accepted answer waits, unread, until the target is bound.
extension DownloadMachine {
  mutating func askForTarget(
    _ id: SegmentID, _ head: ResponseHead, length: Int64?, plan: inout SegmentPlan
  ) -> [Command] {
    let version = Version(validator: Validator(head.headers, now: wallSeconds), length: length)
    if let end = refusal(of: version) { return [.drop(id)] + closeAndFinish(id, end, &plan) }
    naming = .found(id, head)
    return [.bind(id)]
  }

  /// Accepts the answer, unless bytes of an earlier run count: then only the rest is requested.
  mutating func bound(_ found: Found, plan: inout SegmentPlan) -> [Command] {
    guard case .found(let id, let head) = naming else { return [] }
    naming = .known
    note(found)
    // The request was for the whole file: its header says what a request for one byte would.
    hasComparedExisting = true
    var commands: [Command] = []
    if let recovered = found.recovered, !recovered.received.isEmpty {
      let rest = SegmentPlan(length: recovered.version.length, received: recovered.received)
      if isResumable(recovered, rest) {
        _ = close(id)
        plan = rest
        adoptRecovered(recovered)
        return [.drop(id)] + (plan.isComplete ? finishing() : openMore(&plan))
      }
      if refusesToStartOver(recovered) {
        return [.drop(id)] + closeAndFinish(id, .failed(Self.isNotSame), &plan)
      }
      commands = [.phase(.restarted, reason: Self.reason(against: recovered))]
    }
    return commands + responded(id, head, false, plan: &plan)
  }
}

extension ResponseVerdict {
  /// The announced length of an answer that may be the file: `.some(nil)` if it announces none; nil
  /// for any other answer.
  var acceptedLength: Int64?? {
    switch self {
    case .range(let body), .whole(let body): .some(body.total)
    case .empty: .some(0)
    case .failure, .unusableRange, .unsatisfiable: nil
    }
  }
}
