import HaulCore

extension TransferManager {
  /// Registers what steps of this name do: before they are added, and after a restart before the queue is taken up. A step
  /// whose name nobody has registered when it gets a slot fails.
  public func register(step name: String, _ closure: @escaping StepClosure) async {
    steps[name] = closure
    await startWhatMay()
  }

  /// Runs a step for a member that has a slot.
  func run(_ id: TransferID, _ step: StepRequest) {
    if case .program(let words, let directory) = step.action, let programs = engine.programs {
      let command = ProgramCommand(id: id, words: words, directory: directory)
      return run(
        command, ProgramRun(engine, programs, isIdempotent: step.isIdempotent))
    }
    guard let orders = runs[id]?.orders else { return }
    let started = engine.clock.now
    guard case .named(let name, let input) = step.action, let closure = steps[name] else {
      let error = TransferError(.internal, step.missing)
      Task(executorPreference: engine.soleExecutor) {
        await self.ended(id, .finished(TransferResult(state: .failed, error: error)))
      }
      return
    }
    let state = StepState()
    orders.turn(to: state.take)
    let tellsProgress = runs[id]?.tellsProgress ?? true
    let context = StepContext(id: id, input: input, state: state) { [engine] progress in
      if tellsProgress { engine.hub.publish(progress: progress, of: id, nil) }
    }
    engine.hub.publish(.phase(.running, reason: nil), of: id, nil)
    let work = Task(executorPreference: engine.soleExecutor) {
      try await OwnTransfer.$id.withValue(id) { try await closure(context) }
    }
    state.runs(in: work)
    runs[id]?.cutShort = { work.cancel() }
    Task(executorPreference: engine.soleExecutor) { [weak self, engine] in
      let end = MemberRun.End(
        await work.result, state.order, duration: engine.clock.now - started)
      await self?.ended(id, end)
    }
  }
}

extension StepRequest {
  fileprivate var missing: String {
    switch action {
    case .named(let name, _): "no step is registered as \(name); register it, then retry"
    case .program: "this manager runs no programs"
    }
  }
}

extension MemberRun.End {
  /// - Parameter order: what was ordered of the step while it ran.
  fileprivate init(
    _ outcome: Result<Void, any Error>, _ order: MemberRun.Order?, duration: Duration
  ) {
    switch (outcome, order) {
    case (.success, _):
      self = .finished(TransferResult(state: .completed, duration: duration))
    case (.failure(let error), .pause) where error is StepStop: self = .paused
    case (.failure, .cancel):
      self = .finished(TransferResult(state: .cancelled, duration: duration))
    case (.failure(let error), _):
      let own = error as? TransferError ?? TransferError(.io, "the step failed: \(error)")
      self = .finished(TransferResult(state: .failed, duration: duration, error: own))
    }
  }
}
