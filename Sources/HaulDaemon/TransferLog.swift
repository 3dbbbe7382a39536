package import HaulControl
package import HaulCore

/// What the daemon logs of its transfers: a line for each start, each stop, each end
/// and each long wait.
package struct TransferLog: Sendable {
  private var running: Set<TransferID> = []
  private var waits = LongWaits()
  private var lastNumber = 0

  package init() {}

  /// The lines about an event, without secrets and control characters.
  /// - Parameter time: the present time, in seconds since 1970.
  package mutating func entries(about event: TransferEvent, time: Double) -> [LogEntry] {
    lastNumber = event.number ?? lastNumber
    let waits = waits.notices(of: event, after: lastNumber, name: nil, time: time)
    let own = entry(about: event, time: time).map { [$0] } ?? []
    return own
      + waits.map { notice in
        var entry = LogEntry(.waiting, "\(notice.title); \(notice.text)", time: time)
        entry.id = notice.transfer
        return entry
      }
  }

  private mutating func entry(about event: TransferEvent, time: Double) -> LogEntry? {
    func entry(_ kind: LogEntry.Kind, _ text: String) -> LogEntry {
      var entry = LogEntry(kind, TerminalText.escaped("\(event.id): \(text)"), time: time)
      (entry.id, entry.group, entry.url) = (event.id, event.group, event.url?.redacted)
      entry.name = event.url.map { FileName($0).text } ?? event.identifier
      return entry
    }
    switch event.kind {
    case .phase(.connecting, _), .phase(.running, _):
      guard running.insert(event.id).inserted else { return nil }
      return entry(.started, "started\(event.url.map { ", \($0.redacted)" } ?? "")")
    case .finished(let result):
      running.remove(event.id)
      var end = entry(LogEntry.Kind(result.state), Self.text(of: result))
      (end.path, end.bytes, end.code) = (result.path, result.bytes, result.error?.code.rawValue)
      (end.message, end.warning) = (
        result.error.map { TerminalText.escaped($0.message) }, result.warning?.code
      )
      if result.state == .completed { end.isUnchanged = result.isUnchanged }
      end.kept = result.kept
      if let path = result.path { end.name = path.pathParts.name }
      return end
    case .waiting(let reason):
      guard running.remove(event.id) != nil else { return nil }
      let text = reason.text(at: time)
      var stop = entry(.stopped, "stopped: \(text)")
      (stop.code, stop.message) = (reason.code, TerminalText.escaped(text))
      return stop
    case .paused:
      return running.remove(event.id) == nil ? nil : entry(.stopped, "stopped: paused")
    case .removed:
      return running.remove(event.id) == nil ? nil : entry(.stopped, "stopped: removed")
    case .added, .target, .phase, .resumed, .progress, .attempt, .limited, .connections, .moved,
      .snapshot:
      return nil
    }
  }

  private static func text(of result: TransferResult) -> String {
    let path = result.path.map { ", \($0)" } ?? ""
    return switch result.state {
    case .completed:
      (result.isUnchanged ? "unchanged" : "completed") + ", \(ByteCount.text(result.bytes))\(path)"
        + (result.keptText.map { "; \($0)" } ?? "")
        + (result.warning.map { "; warning: \($0.text)" } ?? "")
    case .failed: "failed, \(result.error.map { "\($0.code): \($0.message)" } ?? "reason unknown")"
    case .cancelled: "cancelled"
    }
  }
}

extension LogEntry.Kind {
  fileprivate init(_ state: TransferResult.State) {
    self =
      switch state {
      case .completed: .completed
      case .failed: .failed
      case .cancelled: .cancelled
      }
  }
}
