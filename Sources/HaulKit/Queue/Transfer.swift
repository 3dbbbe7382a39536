public import HaulCore

/// A small handle of one transfer. It keeps its manager alive, and nothing keeps it.
public struct Transfer: Sendable, Identifiable {
  /// Opaque; unique for ever.
  public let id: TransferID
  /// What it transfers; nil for a step.
  public let url: ResourceURL?
  let manager: TransferManager
  let queue: QueueCoordinator

  /// How it ends. Waiting is not owning: a task that is cancelled stops waiting, and the transfer goes on.
  /// - Throws: why it failed; `cancelled` when it was cancelled; `dependency-failed` when a transfer that it waits for was not
  ///   completed (it stays in the list, goes on when that one is retried and completed, and may be waited for again), and when a
  ///   step waits for itself; `interrupted` when the manager was shut down, the transfer taken off the list, or the waiting
  ///   task cancelled.
  public var result: TransferResult {
    get async throws(TransferError) { try await queue.result(of: id) }
  }

  /// How it stands at this moment; nil when it is not in the list any more.
  public var summary: TransferSummary? {
    get async { await queue.summary(of: id) }
  }

  /// Why it does not run at this moment, as in its summary; nil when it runs, rests, has ended or
  /// is not in the list.
  public var waitReason: WaitReason? {
    get async { await summary?.waitReason }
  }

  /// How it stands at this moment, with what it does, how far it is, and how it ended; nil when it is not in the list any more.
  public var snapshot: TransferSnapshot? {
    get async { await queue.snapshot(of: id) }
  }

  /// As `TransferManager.pause`.
  /// - Throws: `io`, `disk-full`.
  @discardableResult
  public func pause() async throws(TransferError) -> CommandRefusal? {
    try await manager.pause(.ids([id])).refused[id]
  }

  /// As `TransferManager.resume`.
  /// - Throws: `io`, `disk-full`.
  @discardableResult
  public func resume() async throws(TransferError) -> CommandRefusal? {
    try await manager.resume(.ids([id])).refused[id]
  }

  /// As `TransferManager.requeue`.
  /// - Throws: `io`, `disk-full`.
  @discardableResult
  public func requeue() async throws(TransferError) -> CommandRefusal? {
    try await manager.requeue(.ids([id])).refused[id]
  }

  /// As `TransferManager.cancel`.
  /// - Throws: `io`, `disk-full`.
  @discardableResult
  public func cancel(keepingBytes: Bool = false) async throws(TransferError) -> CommandRefusal? {
    try await manager.cancel(.ids([id]), keepingBytes: keepingBytes).refused[id]
  }

  /// As `TransferManager.retry`.
  /// - Throws: `io`, `disk-full`.
  @discardableResult
  public func retry() async throws(TransferError) -> CommandRefusal? {
    try await manager.retry(.ids([id])).refused[id]
  }

  /// As `TransferManager.restart`.
  /// - Throws: `io`, `disk-full`.
  @discardableResult
  public func restart() async throws(TransferError) -> CommandRefusal? {
    try await manager.restart(.ids([id])).refused[id]
  }

  /// As `TransferManager.remove`.
  /// - Throws: `io`, `disk-full`.
  @discardableResult
  public func remove() async throws(TransferError) -> CommandRefusal? {
    try await manager.remove(.ids([id])).refused[id]
  }

  /// As `TransferManager.start`.
  /// - Throws: `io`, `disk-full`.
  @discardableResult
  public func start(force: Bool = false) async throws(TransferError) -> CommandRefusal? {
    try await manager.start(.ids([id]), force: force).refused[id]
  }
}

extension Transfer {
  /// As `TransferManager.set`. This handle keeps the address that it was made with.
  /// - Throws: as `TransferManager.set`.
  @discardableResult
  public func set(
    _ change: @Sendable (inout TransferRequest) -> Void
  ) async throws(TransferError) -> CommandRefusal? { try await manager.set(id, change) }

  /// As `TransferManager.setPriority`.
  /// - Throws: `io`, `disk-full`.
  public func setPriority(_ priority: Priority) async throws(TransferError) {
    try await manager.setPriority(priority, of: .ids([id]))
  }

  /// As `TransferManager.move`.
  /// - Throws: `io`, `disk-full`.
  public func move(to place: QueuePlace) async throws(TransferError) {
    try await manager.move(.ids([id]), to: place)
  }
}

extension Transfer: Hashable {
  /// Whether they are handles of the same transfer.
  public static func == (left: Transfer, right: Transfer) -> Bool { left.id == right.id }

  /// The id is what counts.
  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
