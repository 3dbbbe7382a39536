import HaulCore
package import HaulKit

extension TransferDocument {
  /// - Parameter wallSeconds: the present time, in seconds since 1970.
  package init(_ view: TransferView, at wallSeconds: Double) {
    let (row, summary) = (view.row, view.summary)
    self.init(
      id: row.id, kind: view.request.kind, name: row.name, url: row.address,
      identifier: row.identifier, group: row.group,
      priority: summary.priority.name, state: row.state, phase: row.phase?.rawValue,
      waiting: row.waitReason.map { Wait($0, at: wallSeconds) }, bytes: row.bytes,
      total: row.total, fraction: row.fraction,
      rate: JSONNumber.rate(row.rate).map(Double.init) ?? 0,
      path: row.path, error: row.error.map { Failure($0) },
      result: view.result.map {
        .init($0, isBackground: true, error: $0.error.map { Failure($0) })
      },
      connections: view.connections, rateLimit: view.request.rateLimit,
      startsAt: view.startsAt, start: view.startRequest.map { $0.isForced ? "forced" : "first" },
      runsToEnd: view.runsToEnd, acknowledged: view.acknowledged)
    waiting?.next = view.nextWaitReason?.code
  }
}
