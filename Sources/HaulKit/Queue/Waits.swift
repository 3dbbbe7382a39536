import HaulCore

/// Who waits for something of the queue.
struct Waits: Sendable {
  /// Until nothing runs for a transfer.
  let stopped = WaitList<TransferID, Void>()
  /// Until a transfer has ended; nil: look again.
  let ended = WaitList<TransferID, TransferResult?>()
  /// Until every member of a group has ended, or it has none any more; false: look again.
  let groups = WaitList<String, Bool>()
  /// Until no more than so many run or wait for a slot: none, or one that waits itself.
  let empty = WaitList<Int, Void>()
  /// Until an addition with a key is stored, or was refused.
  let added = WaitList<String, Void>()

  /// Tells that so many run or wait for a slot.
  func tell(busy: Int) {
    for number in 0...1 where busy <= number { empty.resume(number, ()) }
  }

  func endAll() {
    stopped.resumeAll(())
    ended.resumeAll(nil)
    groups.resumeAll(false)
    empty.resumeAll(())
  }
}
