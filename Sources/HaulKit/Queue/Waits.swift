import HaulCore

/// Who waits for something of the queue.
struct Waits: Sendable {
  /// Until nothing runs for a transfer.
  let stopped = WaitList<TransferID, Void>()
  /// Until a transfer has ended; nil: look again.
  let ended = WaitList<TransferID, TransferResult?>()
  /// Until every member of a group has ended; false: look again.
  let groups = WaitList<String, Bool>()
  /// Until nothing runs or waits for a slot.
  let empty = WaitList<Nothing, Void>()
  /// Until an addition with a key is stored, or was refused.
  let added = WaitList<String, Void>()

  struct Nothing: Hashable, Sendable {}

  func endAll() {
    stopped.resumeAll(())
    ended.resumeAll(nil)
    groups.resumeAll(false)
    empty.resumeAll(())
  }
}
