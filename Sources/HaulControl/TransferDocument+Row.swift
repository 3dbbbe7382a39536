import HaulCore
package import HaulKit

extension TransferDocument {
  /// - Parameter wallSeconds: the present time, in seconds since 1970.
  package init(_ view: TransferView, at wallSeconds: Double) {
    let row = view.row
    self.init(id: row.id, name: row.name, state: row.state)
    (kind, rateLimit) = (view.request.kind, view.request.rateLimit)
    program = view.request.program
    (url, identifier, group) = (row.address, row.identifier, row.group)
    (priority, phase) = (view.snapshot.summary.priority.name, row.phase?.rawValue)
    waiting = row.waitReason.map { Wait($0, at: wallSeconds) }
    if let cause = view.waitCause { waiting?.message += ": \(cause.fact)" }
    waiting?.next = view.nextWaitReason?.code
    (bytes, acknowledged, total, fraction) = (row.bytes, view.acknowledged, row.total, row.fraction)
    rate = JSONNumber.rate(row.rate).map(Double.init) ?? 0
    (added, ended) = (view.added, view.ended)
    (connections, startsAt, runsToEnd) = (view.connections, view.startsAt, view.runsToEnd)
    (every, nextRun) = (view.request.repetition?.text, view.nextRun(at: wallSeconds))
    lastRun = view.lastRun.map { LastRun($0.result, ended: $0.ended) }
    start = view.startRequest.map { $0.isForced ? "forced" : "first" }
    (path, error) = (row.path, row.error.map { Failure($0) })
    result = view.snapshot.result.map { .init($0, isBackground: true) }
  }
}
