/// A member of the queue: what the queue needs to decide; without request and result.
package struct QueuedMember: Sendable, Hashable {
  package var id: TransferID
  /// As it was last noted: `stateToStore` also has the state of the machine.
  package var storedState: StoredState
  package var host: String?
  package var group: String?
  package var identifier: String?
  /// Ids only: identifiers were looked up when the member was added. Once it is in the queue, the
  /// graph has them.
  package var after: [TransferID] = []
  package var whenDependencyFails: TransferRequest.DependencyPolicy
  /// Whether its start is stored: it is a step, or an upload that must not be sent twice.
  package var storesStart: Bool
  package var isIdempotent: Bool
  /// The exact path of its file, until it is in the queue.
  package var target: FilePath?
  var machine: TransferMachine
  /// Whether it is queued and waits only for a slot, in the scheduler.
  package internal(set) var isScheduled = false
  /// Whether it is queued and has a wait reason, until `waitEnded`.
  var isPostponed = false
  /// The end that was reported, until it is requeued.
  package internal(set) var end: TransferResult.State?

  /// A stored member, without names, dependencies and target.
  package init(
    id: TransferID, storedState: StoredState,
    whenDependencyFails: TransferRequest.DependencyPolicy, storesStart: Bool, isIdempotent: Bool
  ) {
    (self.id, self.storedState) = (id, storedState)
    self.whenDependencyFails = whenDependencyFails
    (self.storesStart, self.isIdempotent) = (storesStart, isIdempotent)
    (machine, end) = (TransferMachine(storedState), storedState.status.end)
  }

  package init(_ record: TransferRecord) {
    let request = record.request
    let (storesStart, isIdempotent) = request.work.repetition
    self.init(
      id: record.id, storedState: record.storedState,
      whenDependencyFails: request.whenDependencyFails, storesStart: storesStart,
      isIdempotent: isIdempotent)
    (host, group, identifier) = (request.host, request.group, request.identifier)
    (after, target) = (request.dependencies.compactMap(\.id), request.exactTarget)
  }

  package var state: TransferMachine.State { machine.state }

  /// Whether there was a run.
  package var hasRun: Bool { machine.hasRun }

  /// Why it waits while it is queued; nil if it waits for dependencies, which the graph has.
  package var waiting: WaitReason? {
    isScheduled ? .slot : isPostponed ? storedState.waitReason : nil
  }

  var stateToStore: StoredState {
    var storedState = storedState
    machine.write(into: &storedState)
    return storedState
  }

  /// Whether it runs, or will run by itself.
  var isOutstanding: Bool { Self.isOutstanding(state, willStart: isScheduled || isPostponed) }

  /// Whether a requested start still counts.
  var keepsStartRequest: Bool {
    switch state {
    case .queued, .running, .stopping(.requeue): true
    case .stopping, .paused, .failed, .completed, .cancelled, .removed: false
    }
  }

  /// Drops its wait reason. A pause that its host asked for holds for others too: it stays until
  /// the host lets this member run again.
  mutating func dropWaitReason() {
    if storedState.hostPause == nil { storedState.waitReason = nil }
  }

  /// Takes the state that it has when a list is opened.
  mutating func reopen() {
    (machine, end) = (TransferMachine(storedState), storedState.status.end)
    (isScheduled, isPostponed) = (false, false)
  }

  /// - Parameter willStart: whether it starts by itself, with a slot or at some time.
  static func isOutstanding(_ state: TransferMachine.State, willStart: Bool) -> Bool {
    switch state {
    case .queued: willStart
    case .running, .stopping: true
    case .paused, .failed, .completed, .cancelled, .removed: false
    }
  }
}

extension TransferRequest.Work {
  /// Whether its start is stored, and whether it may then run again after a crash.
  package var repetition: (storesStart: Bool, isIdempotent: Bool) {
    switch self {
    case .download: (false, true)
    case .upload(let upload): (!upload.isIdempotent, upload.isIdempotent)
    case .step(let step): (true, step.isIdempotent)
    }
  }
}
