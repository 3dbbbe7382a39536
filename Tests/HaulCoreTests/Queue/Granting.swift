import HaulCore
import NIOConcurrencyHelpers

extension QueueMachine {
  /// Grants a slot, and ignores what is to be stored.
  mutating func granted(_ id: TransferID) -> TransferMachine.Grant? {
    var decision = QueueDecision()
    return granted(id, &decision)
  }
}

/// Requested starts, numbered in the order of the calls.
extension Scheduler {
  private static let lastStart = NIOLockedValueBox<Int64>(0)

  mutating func startNow(_ id: TransferID) { requestStart(id, isForced: false) }
  mutating func force(_ id: TransferID) { requestStart(id, isForced: true) }

  private mutating func requestStart(_ id: TransferID, isForced: Bool) {
    let number = Self.lastStart.withLockedValue { last in
      last += 1
      return last
    }
    requestStart(id, StartRequest(number: number, isForced: isForced))
  }
}
