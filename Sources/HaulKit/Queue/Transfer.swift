public import HaulCore

/// A small handle of one transfer. It keeps its manager alive, and nothing keeps it.
public struct Transfer: Sendable, Identifiable {
  /// Opaque; unique for ever.
  public let id: TransferID
  let identity: TransferIdentity?
  let manager: TransferManager
  let queue: QueueCoordinator

  /// What it transfers; nil for a step.
  public var url: ResourceURL? { identity?.url }
  /// The caller's name for it.
  public var identifier: String? { identity?.identifier }
  /// The group that it belongs to.
  public var group: String? { identity?.group }

  /// How it ends. Waiting is not owning: a task that is cancelled stops waiting, and the transfer
  /// goes on.
  /// - Throws: why it failed; `cancelled` when it was cancelled; `dependency-failed` when a
  ///   transfer that it waits for was not completed (it stays in the list, goes on when that one is
  ///   retried and completed, and may be waited for again), and when a step waits for itself;
  ///   `interrupted` when the manager was shut down, the transfer taken off the list, or the
  ///   waiting task cancelled.
  public var result: TransferResult {
    get async throws(TransferError) { try await queue.result(of: id) }
  }

  /// How it stands at this moment; nil when it is not in the list any more.
  public var summary: TransferSummary? {
    get async { await queue.summary(of: id) }
  }

  /// The bytes of a download to `.stream`, as they come; as `TransferManager.bytes(of:)`.
  /// - Throws: as `TransferManager.bytes(of:)`.
  public var bytes: TransferBytes {
    get async throws(TransferError) { try await manager.bytes(of: self) }
  }

  /// Why it does not run at this moment, as in its summary, or why it waits between two attempts;
  /// nil when it runs, rests, has ended or is not in the list.
  public var waitReason: WaitReason? {
    get async { await summary?.waitReason }
  }

  /// How it stands at this moment, with what it does, how far it is, and how it ended; nil when it
  /// is not in the list any more.
  public var snapshot: TransferSnapshot? {
    get async { await queue.snapshot(of: id) }
  }

  /// As `TransferManager.pause`.
  /// - Throws: `refused`, with a `refusal` that says why; `io`, `disk-full`.
  public func pause() async throws(TransferError) {
    try await manager.pause([id]).check(id)
  }

  /// As `TransferManager.resume`.
  /// - Throws: `refused`, with a `refusal` that says why; `io`, `disk-full`.
  public func resume() async throws(TransferError) {
    try await manager.resume([id]).check(id)
  }

  /// As `TransferManager.requeue`.
  /// - Throws: `refused`, with a `refusal` that says why; `io`, `disk-full`.
  public func requeue() async throws(TransferError) {
    try await manager.requeue([id]).check(id)
  }

  /// As `TransferManager.cancel`.
  /// - Throws: `refused`, with a `refusal` that says why; `io`, `disk-full`.
  public func cancel(keepingBytes: Bool = false) async throws(TransferError) {
    try await manager.cancel([id], keepingBytes: keepingBytes).check(id)
  }

  /// As `TransferManager.retry`.
  /// - Throws: `refused`, with a `refusal` that says why; `io`, `disk-full`.
  public func retry() async throws(TransferError) {
    try await manager.retry([id]).check(id)
  }

  /// As `TransferManager.restart`.
  /// - Throws: `refused`, with a `refusal` that says why; `io`, `disk-full`.
  public func restart() async throws(TransferError) {
    try await manager.restart([id]).check(id)
  }

  /// As `TransferManager.remove`.
  /// - Throws: `refused`, with a `refusal` that says why; `io`, `disk-full`.
  public func remove() async throws(TransferError) {
    try await manager.remove([id]).check(id)
  }

  /// As `TransferManager.start`.
  /// - Throws: `refused`, with a `refusal` that says why; `io`, `disk-full`.
  public func start(force: Bool = false) async throws(TransferError) {
    try await manager.start([id], force: force).check(id)
  }
}

extension Transfer {
  /// As `TransferManager.set`. This handle keeps the address that it was made with.
  /// - Throws: as `TransferManager.set`.
  public func set(
    _ change: @Sendable (inout TransferRequest) -> Void
  ) async throws(TransferError) { try await manager.set(id, change) }

  /// As `TransferManager.setPriority`.
  /// - Throws: `refused`, with the `refusal` `isUnknown`; `io`, `disk-full`.
  public func setPriority(_ priority: TransferRequest.Priority) async throws(TransferError) {
    try await manager.setPriority(priority, of: [id]).check(id)
  }

  /// As `TransferManager.move`.
  /// - Throws: `refused`, with the `refusal` `isUnknown`; `io`, `disk-full`.
  public func move(to place: QueuePosition) async throws(TransferError) {
    try await manager.move([id], to: place).check(id)
  }
}

extension Transfer: Hashable {
  /// Whether they are handles of the same transfer.
  public static func == (left: Transfer, right: Transfer) -> Bool { left.id == right.id }

  /// The id is what counts.
  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
