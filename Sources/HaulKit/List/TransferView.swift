package import HaulCore

/// All that is shown of one transfer.
package struct TransferView: Sendable, Hashable {
  package let row: TransferList.Row
  package let snapshot: TransferSnapshot
  /// In seconds since 1970; nil if that is unknown.
  package let added: Double?
  /// Likewise; nil unless it has ended.
  package let ended: Double?
  /// How its last run ended and when, while it waits for the next one or runs; nil if there was
  /// none.
  package let lastRun: LastRun?
  /// It has secrets, which must not be shown.
  package let request: TransferRequest
  /// In seconds since 1970; nil once it no longer waits for that time.
  package let startsAt: Double?
  /// The command that puts it before others; nil for none, and once it has ended.
  package let startRequest: StartRequest?
  /// What would hold it once its start time has come, as far as it is known.
  package let nextWaitReason: WaitReason?
  /// The failure because of which it waits, of this transfer or of its host; nil if it is unknown.
  package let waitCause: TransferError?
  /// Whether it is a program that should stop, and runs to its end.
  package let runsToEnd: Bool
  /// The bytes of a running upload that the server is known to have.
  package let acknowledged: Int64?

  /// A run of a transfer that repeats.
  package struct LastRun: Sendable, Hashable {
    package let result: TransferResult
    /// In seconds since 1970; nil if that is unknown.
    package let ended: Double?

    /// - Parameter isEnded: whether the transfer has ended: its result is shown then.
    init?(_ record: TransferRecord, isEnded: Bool) {
      guard record.request.repetition != nil, !isEnded, let result = record.result else {
        return nil
      }
      (self.result, ended) = (result, record.ended)
    }
  }

  /// When it runs next, in seconds since 1970; nil if it does not repeat, has ended or is paused.
  /// - Parameter wallSeconds: the present time.
  package func nextRun(at wallSeconds: Double) -> Double? {
    guard let repetition = request.repetition, !row.state.isEnded, row.state != .paused else {
      return nil
    }
    return startsAt ?? repetition.next(after: wallSeconds)
  }

  /// The request, with the priority and the start time that count now.
  var presentRequest: TransferRequest {
    var request = request
    (request.priority, request.startSeconds) = (snapshot.summary.priority, startsAt)
    return request
  }

  /// Nil unless it runs.
  package var connections: Int? {
    snapshot.state == .running ? snapshot.progress?.connections : nil
  }
}
