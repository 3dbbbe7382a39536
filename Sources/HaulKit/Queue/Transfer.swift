public import HaulCore

/// A handle of one transfer. It keeps its manager alive; the manager does not keep the handle.
public struct Transfer: Sendable, Identifiable {
  /// Opaque, and unique in its list.
  public let id: TransferID
  let identity: TransferIdentity?
  let manager: TransferManager

  /// What it transfers; nil for a step.
  public var url: ResourceURL? { identity?.url }
  /// The caller's name for it.
  public var identifier: String? { identity?.identifier }
  /// The group that it belongs to.
  public var group: String? { identity?.group }

  /// Waits for its end. A cancelled task stops waiting; the transfer continues.
  /// - Throws: why it failed; `cancelled` when it was cancelled; `dependency-failed` when a
  ///   dependency was not completed (the transfer stays in the list, resumes when that one is
  ///   retried and completed, and can be awaited again), and when a step waits for itself;
  ///   `interrupted` when the manager was shut down, the transfer removed from the list, or the
  ///   waiting task cancelled.
  public var result: TransferResult {
    get async throws(TransferError) { try await manager.coordinator.result(of: id) }
  }

  /// Its present state; nil when it is no longer in the list.
  public var state: TransferState? {
    get async { await summary?.state }
  }

  /// Its progress while it runs or is paused, with bytes and bytes per second; nil until it is
  /// known, and after its end. After a crash it is nil until its next run begins.
  public var progress: TransferProgress? { manager.coordinator.engine.hub.live(id).progress }

  /// What it is to do, with its present priority, start time and secrets; nil when it is no longer
  /// in the list.
  /// - Throws: `io`.
  public var request: TransferRequest? {
    get async throws(TransferError) {
      try await manager.coordinator.views(of: [id]).first?.presentRequest
    }
  }

  /// Its present state, priority and wait reason; nil when it is no longer in the list.
  public var summary: TransferSummary? {
    get async { await manager.coordinator.summary(of: id) }
  }

  /// The bytes of a download to `.stream`, as they arrive, for one reader. A slow one slows the
  /// network; one that stops before the end cancels the transfer.
  /// - Throws: `refused` when it has another destination, has a reader, or is not in the list.
  public var bytes: TransferBytes {
    get async throws(TransferError) { try await manager.bytes(of: self) }
  }

  /// Why it does not run now, or why it waits between two attempts; nil when it runs, is paused,
  /// has ended or is not in the list.
  public var waitReason: WaitReason? {
    get async { await summary?.waitReason }
  }

  /// Its present state with phase, progress and result; nil when it is no longer in the list.
  public var snapshot: TransferSnapshot? {
    get async { await manager.coordinator.snapshot(of: id) }
  }
}

extension Transfer {
  /// Changes its request; see `TransferManager.set`. This handle keeps its original address.
  /// - Throws: as `TransferManager.set`; `refused` with a `refusal`.
  public func set(
    _ change: @Sendable (inout TransferRequest) -> Void
  ) async throws(TransferError) { try await manager.set(self, change).check(id) }
}

extension Transfer: CommandReceiver {
  /// Carries out a command.
  /// - Throws: `refused`, with a `refusal` that says why; `io`, `disk-full`.
  public func perform(_ command: TransferCommand) async throws(TransferError) {
    try await manager.perform(command, [id]).check(id)
  }
}

extension Transfer: TransferReference {
  /// This transfer.
  public var dependency: TransferRequest.Dependency { .transfer(id) }
}

extension QueuePosition {
  /// In front of that transfer.
  public static func before(_ transfer: Transfer) -> QueuePosition { .before(transfer.id) }

  /// Behind that transfer.
  public static func after(_ transfer: Transfer) -> QueuePosition { .after(transfer.id) }
}

extension Transfer: Hashable {
  /// Whether they are handles of the same transfer.
  public static func == (left: Transfer, right: Transfer) -> Bool { left.id == right.id }

  /// Hashes the id.
  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
