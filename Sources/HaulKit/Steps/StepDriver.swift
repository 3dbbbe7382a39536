import FoundationEssentials
import HaulCore

/// Runs a registered step.
struct StepDriver: TransferDriver {
  let closure: StepClosure
  let input: String?

  func run(_ context: RunContext) async -> RunEnd {
    let (id, engine) = (context.id, context.engine)
    let started = engine.clock.now
    let state = StepState()
    context.receiveOrders(state.take)
    let stepContext = StepContext(id: id, input: input, state: state) { progress in
      engine.hub.emit(progress: progress, of: id, context.identity)
    }
    engine.hub.emit(.phase(.running, reason: nil), of: id, context.identity)
    let work = Task(executorPreference: engine.soleExecutor) { [closure] in
      try await CurrentTransfer.$id.withValue(id) { try await closure(stepContext) }
    }
    state.runs(in: work)
    return RunEnd(await work.result, state.order, duration: engine.clock.now - started)
  }
}

/// Fails a step that this manager cannot run.
struct MissingStepDriver: TransferDriver {
  let step: StepRequest

  func run(_ context: RunContext) async -> RunEnd {
    .finished(
      TransferResult(state: .failed, error: step.missing))
  }
}

extension StepRequest {
  fileprivate var missing: TransferError {
    switch action {
    case .named(let name, _):
      TransferError(
        .refused, "no step is registered as \(name)", advice: "register it, then retry")
    case .program: TransferError(.refused, "this manager runs no programs")
    }
  }
}

extension RunEnd {
  /// - Parameter order: the order that the step received while it ran.
  fileprivate init(_ outcome: Result<Void, any Error>, _ order: RunOrder?, duration: Duration) {
    switch (outcome, order) {
    case (.success, _):
      self = .finished(TransferResult(state: .completed, duration: duration))
    case (.failure(let error), .pause) where error is StepStop: self = .paused
    case (.failure, .cancel):
      self = .finished(TransferResult(state: .cancelled, duration: duration))
    case (.failure(let error), _):
      let own = error as? TransferError ?? TransferError(.io, "the step failed: \(error.text)")
      self = .finished(TransferResult(state: .failed, duration: duration, error: own))
    }
  }
}

extension Error {
  /// Its description for people, if it has one.
  fileprivate var text: String { (self as? any LocalizedError)?.errorDescription ?? "\(self)" }
}
