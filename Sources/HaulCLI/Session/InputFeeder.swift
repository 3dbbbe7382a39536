package import HaulCore
package import HaulKit

/// Works off a long input: only some of its transfers are in the manager at once. Those that have
/// ended leave it, and the next ones take their places, in the order of the input.
package actor InputFeeder {
  /// Gets what was added, before its events are read.
  package typealias Added =
    @Sendable (
      _ transfers: [Transfer], _ requests: [TransferRequest], _ indices: [Int]
    ) async throws(TransferError) -> Void

  private let manager: TransferManager
  private let window: Int
  private var reader: any TransferReader
  private let willAdd: (@Sendable ([TransferRequest]) async throws(TransferError) -> Void)?
  private let added: Added
  /// How many transfers are still to be added.
  private var left: Int
  /// How many transfers the manager has.
  private var members: Int
  /// Those of them that have ended.
  private var ended: [(id: TransferID, state: TransferResult.State)] = []
  /// The same and those that leave the manager, until it says that they are gone.
  private var leaving: Set<TransferID> = []
  /// The ends of those that have left it.
  private var ends: [TransferState: Int] = [:]
  private var isClosed = false
  private var filling: Task<TransferError?, Never>?

  /// - Parameters:
  ///   - rest: what follows what the manager has.
  ///   - members: how many transfers it has.
  ///   - willAdd: gets what is added next.
  ///   - added: see `Added`.
  package init(
    _ rest: InputRest, in manager: TransferManager, members: Int,
    willAdd: (@Sendable ([TransferRequest]) async throws(TransferError) -> Void)? = nil,
    added: @escaping Added
  ) {
    (self.manager, self.members, self.willAdd, self.added) = (manager, members, willAdd, added)
    (reader, left, window) = (rest.reader, rest.count, rest.window)
  }

  /// The transfers that the manager does not have, by their states.
  package var counts: [TransferState: Int] {
    ends.merging([isClosed ? .paused : .queued: left], uniquingKeysWith: +)
  }

  /// Notes the ends in some events, and leaves out what comes after an end.
  package func note(_ events: [TransferEvent]) async -> [TransferEvent] {
    // They may be of transfers that are being added.
    _ = await filling?.value  // `fill` throws its error
    var others: [TransferEvent] = []
    others.reserveCapacity(events.count)
    for event in events {
      if leaving.contains(event.id) {
        if case .removed = event.kind { leaving.remove(event.id) }
        continue
      }
      others.append(event)
      guard case .finished(let result) = event.kind else { continue }
      ended.append((event.id, result.state))
      leaving.insert(event.id)
    }
    return others
  }

  /// Adds the next transfers, if there is room for some of them. Call it now and then: many at once
  /// cost less.
  /// - Throws: what keeps the run from its end.
  package func fill() async throws(TransferError) {
    guard left > 0, !isClosed, filling == nil, members - ended.count < window else { return }
    let task = Task { () -> TransferError? in
      do throws(TransferError) {
        try await add()
        return nil
      } catch {
        return error
      }
    }
    filling = task
    let error = await task.value
    filling = nil
    if let error, !isClosed { throw error }
  }

  /// Adds nothing from now on. What is being added has been when this returns.
  package func close() async {
    isClosed = true
    _ = await filling?.value  // `fill` throws its error
  }

  private func add() async throws(TransferError) {
    try await removeEnded()
    guard !isClosed else { return }
    let next: [(request: TransferRequest, index: Int)]
    do throws(UsageError) {
      next = try reader.next(atMost: min(window - members, left))
    } catch {
      throw TransferError(.io, error.message)
    }
    guard !next.isEmpty else {
      throw TransferError(.internal, "the input has fewer files than when it was checked")
    }
    let requests = next.map(\.request)
    left -= next.count
    members += next.count
    try await willAdd?(requests)
    try await added(manager.add(requests), requests, next.map(\.index))
  }

  /// Their bytes stay: a failed transfer is first cancelled, because its removal would delete them.
  private func removeEnded() async throws(TransferError) {
    guard !ended.isEmpty else { return }
    let ids = ended.map(\.id)
    let failed = ended.filter { $0.state == .failed }.map(\.id)
    for (_, state) in ended { ends[state.ofList, default: 0] += 1 }
    ended = []
    members -= ids.count
    // Nothing refuses: they have ended.
    if !failed.isEmpty { _ = try await manager.cancel(.ids(failed), keepingBytes: true) }
    _ = try await manager.remove(.ids(ids))
  }
}
