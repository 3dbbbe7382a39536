import HaulCore

/// Owns the queue: decides, commits, applies, and starts what may run. Nothing is in memory that
/// the store has not taken.
package actor QueueCoordinator {
  /// What a timer is for.
  enum Deadline: Hashable, Sendable {
    /// A host may be asked again.
    case hosts
    /// The time of the week may let other things run.
    case schedule
    /// What is in the way of some may be gone.
    case waits
    /// The store, which refused a change, may take it now.
    case store
    /// The next attempt of a transfer for which nothing runs.
    case retry(TransferID)
    /// Runs that were told to stop are cut short, and at last abandoned.
    case cutShort, abandon
  }

  /// So many need a few megabytes for a decision, and the cost of a transaction no longer matters.
  static let portion = 8192

  let engine: Engine
  let store: any Store
  private(set) var queue = QueueMachine()
  var runs = RunSupervisor()
  let turn = AsyncMutex()
  /// Calls of `add` that wait for their turn, in their order.
  var waitingAdds: [WaitingAdd] = []
  let waiters = Waiters()
  let deadlines: DeadlineQueue<Deadline>
  /// Transfers that wait for something in the way to be gone.
  var waits = WaitMonitor()
  /// Whether the time of the week lets anything start.
  var scheduleMonitor: ScheduleMonitor
  /// Those that it is to stop, and those that it has stopped.
  var outOfTime: [TransferID] = []
  var stoppedBySchedule: Set<TransferID> = []
  var steps: [String: StepClosure] = [:]
  /// Those that have a slot, and whose start is not stored.
  var picked: [TransferID] = []
  /// Whether the time of the week let those have one.
  var arePickedInTime = false
  /// Whether ends are about to be stored, with all that come until then.
  var willStoreEnds = false
  /// Whether the store refused the last change that nobody had asked for.
  var isStoreRefusing = false
  var isShutDown = false
  /// Whether something did not stop in time, and was abandoned.
  var hasAbandonedRuns = false
  /// Members that one change of a command stores at most.
  let portion: Int

  init(engine: Engine, store: any Store, portion: Int) {
    self.engine = engine
    self.store = store
    self.portion = max(portion, 1)
    scheduleMonitor = ScheduleMonitor(engine.hours)
    deadlines = DeadlineQueue(clock: engine.clock, executor: engine.soleExecutor)
    deadlines.begin { [weak self] in await self?.due($0) }
  }

  deinit {
    deadlines.stop()
    engine.hub.close()
  }

  /// Takes up a stored queue, before anything else.
  func take(_ stored: QueueMachine) { queue = stored }

  /// Puts what a queue that was just opened has waiting for a slot only before the scheduler.
  func scheduleStored() -> [TransferID] {
    engine.slots.update { scheduler in
      scheduler.reserve(queue.members.queued)
      queue.scheduleStored { scheduler.add($0, host: $1, priority: $2, rank: $3) }
    }
    return queue.takeStored()
  }
}

/// Decide, commit, apply: in this order, one decision after the other.
extension QueueCoordinator {
  typealias Decide<Result> =
    (inout QueueMachine, inout QueueDecision) throws(TransferError) -> Result

  /// Carries out what `decide` decides, once it is stored.
  /// - Throws: what `decide` throws, and `io` or `disk-full` when it could not be stored; nothing
  ///   has changed then.
  func carryOut<Result>(_ decide: Decide<Result>) async throws(TransferError) -> Result {
    try await turn.run { () async throws(TransferError) in try await commit(decide) }
  }

  /// Carries out, portion by portion, what is decided of many: a decision on a million would need
  /// gigabytes. Each portion is decided, stored and applied before the next, all in one turn, and
  /// nothing new starts before the last one is decided.
  /// - Parameter decide: decides one portion; `isLast` marks the last one.
  /// - Throws: `io` or `disk-full` when a portion could not be stored; those before it are stored
  ///   and stay so.
  func carryOut(
    inPortions ids: [TransferID],
    _ decide: (ArraySlice<TransferID>, _ isLast: Bool, inout QueueMachine, inout QueueDecision) ->
      Void
  ) async throws(TransferError) {
    do throws(TransferError) {
      try await turn.run { () async throws(TransferError) in
        var rest = ids[...]
        repeat {
          let some = rest.prefix(portion)
          rest = rest.dropFirst(portion)
          try await commit(starting: rest.isEmpty) { (queue, decision) throws(TransferError) in
            decide(some, rest.isEmpty, &queue, &decision)
          }
        } while !rest.isEmpty
      }
    } catch {
      // What follows from the portions before it.
      if ids.count > portion { await startWhatMay() }
      throw error
    }
  }

  /// For the one whose turn it is.
  /// - Parameters:
  ///   - starting: whether what has a slot begins with this decision.
  ///   - ends: those of runs that it stores.
  func commit<Result>(
    starting: Bool = true, ends: [TransferID] = [], _ decide: Decide<Result>
  ) async throws(TransferError) -> Result {
    var starts = Starts()
    var decision = QueueDecision()
    let result = try queue.decide(&decision) { (queue, decision) throws(TransferError) in
      let result = try decide(&queue, &decision)
      if starting { starts = grant(&queue, &decision) }
      return result
    }
    engine.hooks.passes(.decided)
    var events: [TransferEvent] = []
    var waiting: [TransferID: TransferIdentity] = [:]
    do throws(TransferError) {
      let unsuccessful = decision.unsuccessful
      if !unsuccessful.isEmpty { try await keepOlderFiles(of: unsuccessful, &decision) }
      events = await self.events(of: decision)
      waiting = await identities(ofWaiting: decision, events)
      let change = decision.change
      if !change.isEmpty { try await store.commit(change) }
    } catch {
      engine.log(error)
      takeBack(starts, decision.added)
      throw error
    }
    engine.hooks.passes(.stored)
    let traces = ends.compactMap { runs.run(of: $0)?.onceStored }
    if !traces.isEmpty { await removeTraces(traces) }
    queue.apply(decision)
    apply(decision, events, waiting, ends, starts)
    if !starts.granted.isEmpty { await launch(starts.granted, decision.added) }
    engine.hooks.passes(.carriedOut)
    return result
  }

  /// An end without success leaves the file that a restart was to replace: it is still there.
  private func keepOlderFiles(
    of ended: [TransferID], _ decision: inout QueueDecision
  ) async throws(TransferError) {
    let records = try await store.records(ended)
    let older = records.compactMap { record in record.result?.path.map { (record.id, $0) } }
    decision.keepFiles(Dictionary(older, uniquingKeysWith: { $1 }))
  }

  /// The events of a decision. What it removes can be read no more once it is stored.
  private func events(of decision: QueueDecision) async -> [TransferEvent] {
    var added = IDTable()
    added.reserve(decision.added.count)
    for place in decision.added.indices { added.set(decision.added[place].id, to: UInt32(place)) }
    let events = decision.events.map { event in
      let identity =
        runs.identity(of: event.id)
        ?? added[event.id].map { TransferIdentity(decision.added[Int($0)].request) }
      return TransferEvent(
        number: event.number, id: event.id, identity: identity, kind: event.kind)
    }
    return engine.hub.isHeard ? await store.identified(events) : events
  }

  /// Of those that are about to wait for others.
  private func identities(
    ofWaiting decision: QueueDecision, _ events: [TransferEvent]
  ) async -> [TransferID: TransferIdentity] {
    var unknown: Set<TransferID> = []
    for case .waits(let id, _, _) in decision.effects { unknown.insert(id) }
    guard !unknown.isEmpty, engine.hub.isHeard else { return [:] }
    var known: [TransferID: TransferIdentity] = [:]
    for event in events where unknown.remove(event.id) != nil { known[event.id] = event.identity }
    // An event without its address is better than none.
    let records = (try? await store.records(unknown.sorted())) ?? []
    for record in records { known[record.id] = TransferIdentity(record.request) }
    return known
  }
}
