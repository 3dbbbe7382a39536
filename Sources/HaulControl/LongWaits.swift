package import HaulCore

/// Decides which waits get a notice: a person must make room, bring a directory back or give other
/// credentials, or the network is away for an hour. However many transfers wait for one thing, one
/// notice reports that it began and one that it is over. It performs nothing.
package struct LongWaits: Sendable {
  /// An outage of the network gets a notice after this many seconds.
  private static let longOutage: Double = 3600
  /// A wait is over after this many seconds without it: a full disk is tried in between.
  private static let settled: Double = 90

  /// What is waited for.
  private enum Cause: Hashable {
    case room(device: UInt64)
    case directory(String)
    case network
    case credentials

    init?(_ reason: WaitReason) {
      switch reason {
      case .diskFull(let shortage): self = .room(device: shortage.device)
      case .directoryMissing(let path, _): self = .directory(path)
      case .offline: self = .network
      case .credentialsRefused: self = .credentials
      default: return nil
      }
    }

    /// How long nobody has to know.
    var patience: Double { self == .network ? LongWaits.longOutage : 0 }
  }

  fileprivate struct Wait {
    let since: Double
    let code: String
    let text: String
    /// All that have waited for it, and those that still do.
    var members: Set<TransferID> = []
    var waiting: Set<TransferID> = []
    /// When the last of them went on.
    var leftAt: Double?
    var isReported = false
  }

  private var waits: [Cause: Wait] = [:]

  package init() {}

  /// Whether a wait for this reason may get a notice.
  package static func concerns(_ reason: WaitReason) -> Bool { Cause(reason) != nil }

  /// The notices that an event makes.
  /// - Parameters:
  ///   - number: of the last state change.
  ///   - name: of the transfer, if it is known.
  ///   - time: the present time, in seconds since 1970.
  package mutating func notices(
    of event: TransferEvent, after number: Int, name: String?, time: Double
  ) -> [Notice] {
    if case .waiting(let reason) = event.kind, let cause = Cause(reason) {
      return begin(cause, reason, event, number, name, time)
    }
    guard !waits.isEmpty else { return [] }
    if let leaving = event.kind.leaving { leave(event.id, leaving, time) }
    return over(after: number, time)
  }

  /// Takes note of which transfers wait now, in place of events that were missed.
  package mutating func reset(to transfers: [TransferSummary], time: Double) {
    for cause in waits.keys {
      let waiting = transfers.filter { $0.waitReason.flatMap(Cause.init) == cause }
      waits[cause]?.waiting = Set(waiting.map(\.id))
      waits[cause]?.leftAt = waiting.isEmpty ? time : nil
    }
  }

  private mutating func begin(
    _ cause: Cause, _ reason: WaitReason, _ event: TransferEvent, _ number: Int, _ name: String?,
    _ time: Double
  ) -> [Notice] {
    leave(event.id, .trying, time)
    let ended = over(after: number, time)
    var wait =
      waits[cause] ?? Wait(since: time, code: reason.code, text: reason.text(at: time))
    wait.members.insert(event.id)
    wait.waiting.insert(event.id)
    wait.leftAt = nil
    let isNew = !wait.isReported && time - wait.since >= cause.patience
    wait.isReported = wait.isReported || isNew
    waits[cause] = wait
    guard isNew else { return ended }
    let known = name ?? event.identifier ?? "\(event.id)"
    return ended + [Notice(wait, of: known, event.id, number, time)]
  }

  /// How a transfer stops waiting.
  fileprivate enum Leaving {
    case trying, ended
    /// A person took it out; that says nothing of what it waited for.
    case withdrawn
  }

  /// Notes that a transfer does not wait now. If it has ended, the wait is over; if all that waited
  /// were taken out, nobody knows that, and nothing is reported.
  private mutating func leave(_ id: TransferID, _ leaving: Leaving, _ time: Double) {
    for (cause, var wait) in waits where wait.members.contains(id) {
      let isUnknown = wait.waiting.remove(id) != nil && leaving == .withdrawn
      if isUnknown { wait.members.remove(id) }
      if wait.waiting.isEmpty {
        wait.leftAt = leaving == .trying || isUnknown ? wait.leftAt ?? time : -.infinity
      }
      waits[cause] = wait.members.isEmpty ? nil : wait
    }
  }

  /// Ends the waits that are over.
  private mutating func over(after number: Int, _ time: Double) -> [Notice] {
    let over = waits.filter { $0.value.leftAt.map { time - $0 >= Self.settled } ?? false }
    return over.sorted { $0.value.since < $1.value.since }.compactMap { cause, wait in
      waits[cause] = nil
      return wait.isReported ? Notice(wait, of: nil, wait.members.min(), number, time) : nil
    }
  }
}

extension Notice {
  /// - Parameter name: of the first transfer that waits; nil when the wait is over.
  fileprivate init(
    _ wait: LongWaits.Wait, of name: String?, _ transfer: TransferID?, _ number: Int, _ time: Double
  ) {
    let isOver = name == nil
    let of = transfer.map { "\($0)" } ?? wait.code
    self.init(
      id: "\(of)-\(number)-\(isOver ? "over" : "waiting")",
      number: number, kind: .waiting, name: name ?? wait.code, time: time,
      title: "\(isOver ? "no longer waiting" : "waiting"): \(Self.shown(wait.text))",
      text: name.map { "\(Self.shown($0)) waits, and goes on by itself when this is over" }
        ?? "it took \(Self.duration(time - wait.since))")
    self.transfer = transfer
    waiting = Waiting(code: wait.code, since: wait.since, isOver: isOver)
  }

  /// `3 h 5 min`, `12 min`, `40 s`.
  private static func duration(_ seconds: Double) -> String {
    let all = Int(exactly: min(max(seconds, 0), 1e9).rounded()) ?? 0
    guard all >= 60 else { return "\(all) s" }
    let (hours, minutes) = (all / 3600, all / 60 % 60)
    return hours > 0 ? "\(hours) h \(minutes) min" : "\(minutes) min"
  }
}

extension TransferEvent.Kind {
  /// How the transfer does not wait as before; nil if it may.
  fileprivate var leaving: LongWaits.Leaving? {
    switch self {
    case .phase, .waiting: .trying
    case .paused, .removed: .withdrawn
    case .finished(let result): result.state == .cancelled ? .withdrawn : .ended
    default: nil
    }
  }
}
