/// A state change in the log.
public struct StoredEvent: Sendable, Hashable {
  /// Increases by one, also across restarts.
  public let number: Int
  /// The transfer.
  public let id: TransferID
  /// What happened.
  public let kind: TransferEvent.Kind
  /// What the end that completes a group says about it. A store that does not keep it loses only
  /// this.
  package var groupEnd: GroupEnd?

  /// An event of these parts.
  public init(number: Int, id: TransferID, kind: TransferEvent.Kind) {
    self.number = number
    self.id = id
    self.kind = kind
  }

  package init(number: Int, id: TransferID, kind: TransferEvent.Kind, groupEnd: GroupEnd?) {
    self.init(number: number, id: id, kind: kind)
    self.groupEnd = groupEnd
  }
}

/// A group of which all members have ended, and how they did.
package struct GroupEnd: Hashable, Sendable, Codable {
  package let name: String
  package let completed: Int
  package let failed: Int
  package let cancelled: Int

  package init(name: String, completed: Int, failed: Int = 0, cancelled: Int = 0) {
    (self.name, self.completed) = (name, completed)
    (self.failed, self.cancelled) = (failed, cancelled)
  }

  package var members: Int { completed + failed + cancelled }
}

/// The process of a step's program, now or when the last process of Haul died.
public struct StoredProcess: Sendable, Hashable {
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
