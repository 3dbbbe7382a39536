import HaulCore

/// Tasks that wait for something of the queue.
struct Waiters: Sendable {
  /// Until nothing runs for a transfer.
  let stopped = ContinuationList<TransferID, Void>()
  /// Until a transfer has ended; nil: look again.
  let ended = ContinuationList<TransferID, TransferResult?>()
  /// Until every member of a group has ended, or it has none any more; false: look again.
  let groups = ContinuationList<String, Bool>()
  /// Until no more than so many run or wait for a slot: 0, or 1 for a step that waits itself.
  let empty = ContinuationList<Int, Void>()

  /// Resumes those who wait until no more than so many run or wait for a slot.
  func resume(busy: Int) {
    for number in 0...1 where busy <= number { empty.resume(number, ()) }
  }

  func endAll() {
    stopped.resumeAll(())
    ended.resumeAll(nil)
    groups.resumeAll(false)
    empty.resumeAll(())
  }
}
