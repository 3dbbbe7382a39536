package import HaulCore
package import HaulKit

extension TransferDocument {
  /// - Parameter wallSeconds: the present time, in seconds since 1970.
  package init(_ row: TransferList.Row, _ summary: TransferSummary, at wallSeconds: Double) {
    self.init(
      id: row.id, name: row.name, url: row.address, identifier: row.identifier, group: row.group,
      priority: summary.priority.name, state: row.state, phase: row.phase?.rawValue,
      waiting: row.waitReason.map { Wait($0, at: wallSeconds) }, bytes: row.bytes,
      total: row.total, fraction: row.fraction, rate: row.rate.isFinite ? row.rate : 0,
      path: row.path,
      error: row.error.map { Failure($0) })
  }
}

extension TransferDocument.Wait {
  init(_ reason: WaitReason, at wallSeconds: Double) {
    var other: (id: TransferID, isBlocked: Bool)?
    if case .dependency(let id, let isBlocked) = reason { other = (id, isBlocked) }
    self.init(
      code: reason.code, message: reason.description(at: wallSeconds), until: reason.until,
      transfer: other?.id, isBlocked: other?.isBlocked)
  }
}

extension TransferDocument.Failure {
  init(_ error: TransferError) {
    self.init(
      code: error.code, message: error.message, status: error.status,
      isRetryable: error.isRetryable)
  }
}
