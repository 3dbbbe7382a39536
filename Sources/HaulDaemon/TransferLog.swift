import HaulControl
package import HaulCore

/// The lines of the daemon's log about transfers: one for each start, each end and each long wait.
package struct TransferLog: Sendable {
  private var running: Set<TransferID> = []
  private var waits = LongWaits()
  private var lastNumber = 0

  package init() {}

  /// The lines about an event, without secrets and control characters.
  /// - Parameter time: the present time, in seconds since 1970.
  package mutating func lines(about event: TransferEvent, time: Double) -> [String] {
    lastNumber = event.number ?? lastNumber
    let waits = waits.notices(of: event, after: lastNumber, name: nil, time: time)
    return line(about: event).map { [TerminalText.escaped($0)] } ?? []
      + waits.map { "\($0.title); \($0.text)" }
  }

  private mutating func line(about event: TransferEvent) -> String? {
    switch event.kind {
    case .phase(.connecting, _), .phase(.running, _):
      guard running.insert(event.id).inserted else { return nil }
      return "\(event.id): started\(event.url.map { ", \($0.redacted)" } ?? "")"
    case .finished(let result):
      running.remove(event.id)
      return "\(event.id): \(Self.text(of: result))"
    case .waiting, .paused, .removed:
      running.remove(event.id)
      return nil
    case .added, .target, .phase, .resumed, .progress, .attempt, .limited, .connections, .moved,
      .snapshot:
      return nil
    }
  }

  private static func text(of result: TransferResult) -> String {
    let path = result.path.map { ", \($0)" } ?? ""
    return switch result.state {
    case .completed:
      "completed, \(ByteCount.text(result.bytes))\(path)"
        + (result.warning.map { "; warning: \($0.text)" } ?? "")
    case .failed: "failed, \(result.error.map { "\($0.code): \($0.message)" } ?? "reason unknown")"
    case .cancelled: "cancelled"
    }
  }
}
