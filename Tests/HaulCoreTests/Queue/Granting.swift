import HaulCore

extension QueueMachine {
  /// A slot is there for it; what is to be stored of that is of no interest here.
  mutating func granted(_ id: TransferID) -> TransferMachine.Grant? {
    var decision = QueueDecision()
    return granted(id, &decision)
  }
}
