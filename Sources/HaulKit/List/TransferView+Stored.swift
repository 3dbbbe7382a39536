package import HaulCore
import HaulFiles

extension TransferView {
  /// A transfer of a stored list that no manager has opened.
  /// - Parameter location: where its bytes are, to say how many there are. Reading it blocks.
  package init(stored record: TransferRecord, at location: FileLocation?) {
    let summary = TransferSummary(
      QueuedMember(record), waitReason: record.storedState.waitReason)
    let isEnded = summary.state.isEnded
    let snapshot = TransferSnapshot(
      summary: summary, progress: isEnded ? nil : location?.progress(on: POSIXDisk()),
      result: isEnded ? record.result : nil)
    var row = TransferList.Row(record, snapshot)
    row.note(length: location?.length)
    self.init(
      row: row, snapshot: snapshot, added: record.added, ended: isEnded ? record.ended : nil,
      lastRun: LastRun(record, isEnded: isEnded), request: record.request,
      startsAt: record.storedState.pendingStartTime,
      startRequest: record.storedState.startRequest, nextWaitReason: nil, waitCause: nil,
      runsToEnd: false, acknowledged: nil)
  }
}
