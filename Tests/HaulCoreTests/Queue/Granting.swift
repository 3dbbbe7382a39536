import HaulCore

extension QueueMachine {
  /// Grants a slot, and ignores what is to be stored.
  mutating func granted(_ id: TransferID) -> TransferMachine.Grant? {
    var decision = QueueDecision()
    return granted(id, &decision)
  }
}
