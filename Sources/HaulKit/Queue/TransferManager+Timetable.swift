public import HaulCore

/// Times of the week in which nothing runs.
extension TransferManager {
  /// When transfers run; nil for always.
  public var timetable: Timetable? { times.hours?.timetable }

  /// Changes when transfers run. Returns when what may start has started, and what may not go on was told to stop.
  ///
  /// Outside of the timetable nothing starts but what is forced. At the end of a window downloads that run are stopped: they keep their
  /// bytes and their places, and go on by themselves when the next one opens. No attempt is counted, and what somebody paused
  /// stays paused. What would lose its work runs to its end: steps, and streams. What was forced since the end of the window runs on.
  /// - Parameter timetable: nil for always. It is not stored: the next manager has that of its configuration.
  /// - Throws: `internal` for a time zone that nobody knows, and a window whose minutes are none of a day; nothing has changed then.
  public func setTimetable(_ timetable: Timetable?) async throws(TransferError) {
    var hours: OpenHours?
    if let timetable { hours = try OpenHours(timetable) }
    times.set(hours)
    await startWhatMay()
    tellReopened()
  }

  /// Lets the time of the week decide whether anything may start, and stops what may not go on. Before anything starts.
  func keepToTimetable() async {
    guard !isShutDown, times.hours != nil || !times.isOpen else { return }
    let wasOpen = times.isOpen
    times.look(at: engine.clock.now, wallSeconds: engine.clock.wallSeconds)
    defer { lookAtTimesLater() }
    engine.slots.update { $0.closed = times.closed }
    if times.isOpen {
      leaving = []
    } else if wasOpen {
      leaving = Set(runs.keys.filter(leavesWhenClosed))
      toldClosed = leaving
      await stopLeaving()
    }
  }

  /// A step would begin again, and of a stream nothing more would come.
  private func leavesWhenClosed(_ id: TransferID) -> Bool {
    queue.members[id]?.facts.isStep == false && streams[id] == nil
  }

  private func stopLeaving() async {
    let ids = leaving
    guard !ids.isEmpty else { return }
    do {
      try await carryOut(inPortions: ids.sorted()) { some, isLast, decision in
        // It may have ended since, or been paused, or the time may have come.
        let left = some.filter { !times.isOpen && queue.members.state(of: $0) == .running }
        _ = queue.handle(.requeue, left, by: .signal, isLast: isLast, &decision)
      }
      leaving.subtract(ids)
    } catch {
      engine.log(error)
      leaving.formUnion(ids)
      times.lookSoon(at: engine.clock.now)
    }
  }

  /// While nothing runs or waits for a slot there is nothing to look for: whatever is added looks itself.
  private func lookAtTimesLater() {
    guard !isShutDown, queue.busy > 0, let next = times.nextLook,
      timing.map({ $0.instant != next }) ?? true
    else { return }
    let clock = engine.clock
    // One that is due is at work.
    if let timing, timing.instant > clock.now { timing.task.cancel() }
    let task = Task(executorPreference: engine.soleExecutor) { [weak self] in
      guard (try? await clock.sleep(until: next)) != nil else { return }
      await self?.timeHasCome()
    }
    timing = (next, task)
  }

  private func timeHasCome() async {
    let wereLeft = !leaving.isEmpty
    await keepToTimetable()
    if wereLeft { await stopLeaving() }
    await startWhatMay()
    tellReopened()
  }

  /// Those that were stopped, and have no slot yet, wait for something else now.
  private func tellReopened() {
    guard times.isOpen, !toldClosed.isEmpty else { return }
    for id in toldClosed.sorted() where queue.members.state(of: id) == .queued {
      tellWaiting(id, nil)
    }
    toldClosed = []
  }
}
