public import HaulCore

/// Which transfers a command did not change, and why.
public struct CommandReport: Sendable, Hashable {
  /// Transfers that the command refused; those already in the wanted state are not included.
  public let refused: [TransferID: CommandRefusal]

  package init(refused: [TransferID: CommandRefusal]) { self.refused = refused }

  /// - Throws: `refused`, if the command refused that transfer.
  func check(_ id: TransferID) throws(TransferError) {
    if let refusal = refused[id] { throw TransferError(refusal) }
  }
}
