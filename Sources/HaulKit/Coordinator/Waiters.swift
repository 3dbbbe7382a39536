import HaulCore

/// Tasks that wait for a state of the queue.
struct Waiters: Sendable {
  /// Until a transfer has no run.
  let stopped = ContinuationList<TransferID, Void>()
  /// Until a transfer has ended; nil: check again.
  let ended = ContinuationList<TransferID, TransferResult?>()
  /// Until every member of a group has ended, or it has no members; false: check again.
  let groups = ContinuationList<String, Bool>()
  /// Until at most this many run or wait for a slot: 0, or 1 when the caller is a step of the list.
  let empty = ContinuationList<Int, Void>()

  /// Resumes the callers that wait until at most this many run or wait for a slot.
  func resume(outstanding: Int) {
    for number in 0...1 where outstanding <= number { empty.resume(number, ()) }
  }

  func endAll() {
    stopped.resumeAll(())
    ended.resumeAll(nil)
    groups.resumeAll(false)
    empty.resumeAll(())
  }
}
