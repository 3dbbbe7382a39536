package import HaulCore

/// All that is shown of one transfer.
package struct TransferView: Sendable, Hashable {
  package let row: TransferList.Row
  package let snapshot: TransferSnapshot
  /// In seconds since 1970; nil if that is unknown.
  package let added: Double?
  /// Likewise; nil unless it has ended.
  package let ended: Double?
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

  /// Nil unless it runs.
  package var connections: Int? {
    snapshot.state == .running ? snapshot.progress?.connections : nil
  }
}
