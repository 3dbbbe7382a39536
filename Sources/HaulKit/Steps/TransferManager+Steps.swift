import HaulCore

extension TransferManager {
  /// Registers what steps of this name do: before they are added, and after a restart before the queue is taken up. A step
  /// whose name nobody has registered when it gets a slot fails.
  public func register(step name: String, _ closure: @escaping StepClosure) async {
    steps[name] = closure
    await startWhatMay()
  }

  /// Who runs a step.
  func driver(
    of step: StepRequest, _ id: TransferID, _ reportsProgress: Bool
  ) -> any TransferDriver {
    switch step.action {
    case .program(let words, let directory):
      guard let programs = engine.programs else { break }
      return ProgramDriver(
        ProgramCommand(id: id, words: words, directory: directory), engine, programs,
        isIdempotent: step.isIdempotent)
    case .named(let name, let input):
      guard let closure = steps[name] else { break }
      return StepDriver(closure: closure, input: input, reportsProgress: reportsProgress)
    }
    return MissingStepDriver(step: step)
  }
}
