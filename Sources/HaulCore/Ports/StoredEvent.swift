/// A state change as the log keeps it.
public struct StoredEvent: Sendable, Hashable {
  /// Rising by one, across restarts.
  public let number: Int
  /// Whom it happened to.
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

/// The process that runs a step's program, or did when the last process of ours died.
public struct StoredProgram: Sendable, Hashable {
  /// The step's.
  public let id: TransferID
  /// Which process.
  public let process: ProcessIdentity

  /// The process of a step.
  public init(id: TransferID, process: ProcessIdentity) {
    self.id = id
    self.process = process
  }
}
