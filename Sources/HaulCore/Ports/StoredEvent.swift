/// A state change in the log.
public struct StoredEvent: Sendable, Hashable {
  /// Increases by one, also across restarts.
  public let number: Int
  /// The transfer.
  public let id: TransferID
  /// What happened.
  public let kind: TransferEvent.Kind

  /// An event of these parts.
  public init(number: Int, id: TransferID, kind: TransferEvent.Kind) {
    self.number = number
    self.id = id
    self.kind = kind
  }
}

/// The process of a step's program, now or when the last process of Haul died.
public struct StoredProgram: Sendable, Hashable {
  /// The step.
  public let id: TransferID
  /// The process.
  public let process: ProcessIdentity

  /// The process of a step.
  public init(id: TransferID, process: ProcessIdentity) {
    self.id = id
    self.process = process
  }
}
