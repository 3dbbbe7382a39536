public import HaulCore

/// What a command did not do.
public struct CommandReport: Sendable, Hashable {
  /// Those that stayed as they were, and why; those that were already so are not among them.
  public let refused: [TransferID: CommandRefusal]

  /// - Throws: `refused`, if that one stayed as it was.
  func check(_ id: TransferID) throws(TransferError) {
    if let refusal = refused[id] { throw TransferError(refusal) }
  }
}
