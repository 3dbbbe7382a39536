public import HaulCore

/// Runs transfers: the one mutable thing of the library.
public actor TransferManager {
  /// A manager whose records live in memory.
  /// - Throws: `io` when the file of certificate authorities cannot be read, `tls` when it holds none.
  public init(_ configuration: Configuration = Configuration()) throws(TransferError) {}

  /// Adds transfers, in order, all of them or none; each starts when a slot is free.
  @discardableResult
  public func add(_ requests: [TransferRequest]) -> [Transfer] { [] }

  /// Pauses everything that has not ended; returns when its I/O has stopped and its checkpoints are taken.
  public func pauseAll(by origin: TransferEvent.Origin = .user) async {}

  /// Every event from now on, each once and in order; ends when the manager has shut down.
  public nonisolated func events() -> TransferEvents { TransferEvents() }

  /// Pauses what runs, closes every connection, ends every event stream.
  public func shutdown() async {}
}

/// A small handle of one transfer.
public struct Transfer: Sendable, Hashable, Identifiable {
  public let id: TransferID
  public let url: ResourceURL
}

/// The events of a manager.
public struct TransferEvents: AsyncSequence, Sendable {
  public struct AsyncIterator: AsyncIteratorProtocol {
    public mutating func next() async -> TransferEvent? { nil }
  }
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
}
