import HaulCore

/// Commands to many members, and the order of the list.
extension QueueCoordinator {
  func perform(
    _ command: TransferCommand, _ selection: TransferSelection,
    by initiator: TransferEvent.Initiator
  ) async throws(TransferError) -> CommandReport {
    switch command {
    case .pause: try await change(.pause, selection, by: initiator)
    case .resume: try await change(.resume, selection, by: initiator)
    case .requeue: try await change(.requeue, selection, by: initiator)
    case .cancel(let keepsBytes):
      try await change(keepsBytes ? .cancelKeepingBytes : .cancel, selection, by: initiator)
    case .retry: try await change(.retry, selection, by: initiator)
    case .restart: try await change(.restart, selection, by: initiator)
    case .remove: try await change(.remove, selection, by: initiator)
    case .start(let isForced):
      try await change(isForced ? .force : .start, selection, by: initiator)
    case .move(let position): try await move(selection, to: position)
    case .setPriority(let priority): try await setPriority(priority, of: selection)
    }
  }

  private func change(
    _ command: TransferMachine.Command, _ selection: TransferSelection,
    by initiator: TransferEvent.Initiator
  ) async throws(TransferError) -> CommandReport {
    let ids = queue.order(ids(of: selection), for: command)
    var refused: [TransferID: CommandRefusal] = [:]
    try await performDecision(inPortions: ids) { some, isLast, queue, decision in
      let refusals = queue.handle(
        command, some, by: initiator, isLast: isLast, waitsForSlot: isWaitingForSlot, &decision)
      refused.merge(refusals) { $1 }
    }
    await startReady()
    for id in ids where command.isCarriedOutWhenStopped {
      // It may run for hours.
      if command == .pause, runsToEnd(id) { continue }
      if case .stopping = queue.members.state(of: id) { await waitUntilStopped(id) }
    }
    return CommandReport(refused: refused)
  }

  /// Whether it should stop and runs to its end, because it is a program that cannot be paused.
  func runsToEnd(_ id: TransferID) -> Bool {
    guard runs.run(of: id)?.cannotPause == true else { return false }
    return switch queue.members.state(of: id) {
    case .stopping(.pause), .stopping(.requeue): true
    default: false
    }
  }

  /// Waits until the transfer is no longer stopping.
  private func waitUntilStopped(_ id: TransferID) async {
    while id != CurrentTransfer.id, case .stopping = queue.members.state(of: id), !Task.isCancelled,
      !isShutDown || runs.isRunning(id)
    {
      _ = await waiters.stopped.valueUnlessCancelled(for: id)
    }
  }

  func pauseAll(by initiator: TransferEvent.Initiator) async {
    do throws(TransferError) {
      _ = try await perform(.pause, .all, by: initiator)
    } catch {
      engine.log(error)
      for id in runs.running { runs.send(.pause, to: id) }
    }
  }

  private func move(
    _ selection: TransferSelection, to position: QueuePosition
  ) async throws(TransferError) -> CommandReport {
    let ids = ids(of: selection)
    let report = reportOfUnknown(ids)
    try await performDecision { (queue, decision) throws(TransferError) in
      queue.move(ids, to: position, &decision)
    }
    return report
  }

  private func reportOfUnknown(_ ids: [TransferID]) -> CommandReport {
    var refused: [TransferID: CommandRefusal] = [:]
    for id in ids where !queue.members.contains(id) { refused[id] = .isUnknown }
    return CommandReport(refused: refused)
  }

  private func setPriority(
    _ priority: TransferRequest.Priority, of selection: TransferSelection
  ) async throws(TransferError) -> CommandReport {
    let ids = ids(of: selection)
    let report = reportOfUnknown(ids)
    try await performDecision(inPortions: ids) { some, _, queue, decision in
      queue.set(priority, of: some, &decision)
    }
    await startReady()
    return report
  }

  func setSuspended(_ isSuspended: Bool) async {
    let hasChanged = engine.scheduler.update { scheduler in
      defer { scheduler.isSuspended = isSuspended }
      return scheduler.isSuspended != isSuspended
    }
    await startReady()
    if hasChanged { emitSlotWaits() }
  }

  func setLimits(_ change: @Sendable (inout Scheduler.Limits) -> Void) async {
    engine.scheduler.update { scheduler in
      var limits = scheduler.limits
      change(&limits)
      scheduler.setLimits(limits)
    }
    await startReady()
  }

  func register(step name: String, _ closure: @escaping StepClosure) async {
    steps[name] = closure
    await startReady()
  }
}

extension TransferMachine.Command {
  /// Whether the caller waits until the run has stopped.
  fileprivate var isCarriedOutWhenStopped: Bool {
    switch self {
    case .pause, .cancel, .cancelKeepingBytes, .remove: true
    case .resume, .requeue, .retry, .restart, .start, .force: false
    }
  }
}
