import HaulCore

/// What may happen to a member of the queue.
enum MachineInput: Hashable, CaseIterable, CustomStringConvertible {
  case command(TransferMachine.Command)
  case granted
  case ended(TransferMachine.RunEndKind)
  case skipped
  /// The process dies, and the store is opened again.
  case reopened

  static let allCases =
    TransferMachine.Command.allCases.map(MachineInput.command) + [.granted]
    + TransferMachine.RunEndKind.allCases.map(MachineInput.ended) + [.skipped, .reopened]

  var description: String {
    switch self {
    case .command(let command): "\(command)"
    case .granted: "granted"
    case .ended(let end): "ended \(end)"
    case .skipped: "skipped"
    case .reopened: "reopened"
    }
  }
}

/// A machine with a model of its context: what runs for it, what was stored, what was
/// reported.
struct MachineWorld: Hashable {
  enum Activity: Hashable { case none, run, discard }

  private(set) var machine = TransferMachine()
  private(set) var storedState = StoredState()
  private(set) var activity = Activity.none
  /// The reported end, until it waits again.
  private(set) var reported: TransferResult.State?
  /// Whether the last run had to start over.
  private(set) var startedOver = false

  var state: TransferMachine.State { machine.state }

  var isStopping: Bool { if case .stopping = state { true } else { false } }

  /// Whether an end of that kind is possible now: a deletion ends only as `cancelled`.
  func canEnd(_ end: TransferMachine.RunEndKind) -> Bool {
    activity == .run || activity == .discard && end == .cancelled
  }

  /// The outcome; nil if the input is impossible here.
  mutating func apply(_ input: MachineInput) -> TransferMachine.Outcome? {
    let outcome: TransferMachine.Outcome
    switch input {
    case .command(let command): outcome = machine.handle(command)
    case .granted:
      guard let grant = machine.granted() else { return nil }
      (activity, startedOver, outcome) = (.run, grant.restartsFromZero, .done([]))
    case .ended(let end):
      guard canEnd(end) else { return nil }
      activity = .none
      outcome = .done(machine.ended(end))
    case .skipped: outcome = .done(machine.skip())
    case .reopened:
      guard state != .removed else { return nil }
      outcome = .done(reopen())
    }
    note(outcome)
    return outcome
  }

  /// After a restart, the pending command is carried out.
  private mutating func reopen() -> [TransferMachine.Effect] {
    machine = TransferMachine(storedState)
    activity = .none
    switch state {
    case .stopping(.pause), .stopping(.cancelKeepingBytes):
      return machine.ended(.paused)
    case .stopping(.cancel), .stopping(.remove): return [.discard]
    default: return []
    }
  }

  private mutating func note(_ outcome: TransferMachine.Outcome) {
    machine.write(into: &storedState)
    if case .done(let effects) = outcome {
      if effects.contains(.discard) { activity = .discard }
      for case .reportEnd(let end) in effects { reported = end }
    }
    if [.queued, .running, .paused].contains(state) { reported = nil }
  }

  /// The world after these inputs, in order.
  func after(_ inputs: MachineInput...) -> MachineWorld {
    var world = self
    for input in inputs { _ = world.apply(input) }
    return world
  }

  /// The world after each run has ended like this, and bytes to delete are deleted.
  func settled(_ end: TransferMachine.RunEndKind) -> MachineWorld {
    after(.ended(end), .ended(.cancelled))
  }
}

/// Each pair of a possible world and an input. There are few enough to check all of them.
struct MachineStep: CustomStringConvertible {
  let path: [MachineInput]
  let before: MachineWorld
  let input: MachineInput
  let outcome: TransferMachine.Outcome
  let after: MachineWorld

  var effects: [TransferMachine.Effect] {
    if case .done(let effects) = outcome { effects } else { [] }
  }

  var command: TransferMachine.Command? {
    if case .command(let command) = input { command } else { nil }
  }

  /// The inputs that lead here.
  var description: String {
    let inputs = (path + [input]).map(\.description).joined(separator: ", ")
    return "\(inputs): \(before.state), then \(after.state) by \(outcome)"
  }

  static let all: [MachineStep] = {
    var worlds = [(MachineWorld(), [MachineInput]())]
    var seen: Set<MachineWorld> = [MachineWorld()]
    var steps: [MachineStep] = []
    var index = 0
    while index < worlds.count {
      let (before, path) = worlds[index]
      index += 1
      for input in MachineInput.allCases {
        var after = before
        guard let outcome = after.apply(input) else { continue }
        steps.append(
          MachineStep(path: path, before: before, input: input, outcome: outcome, after: after))
        if seen.insert(after).inserted { worlds.append((after, path + [input])) }
      }
    }
    return steps
  }()

  /// Each possible world, once.
  static let worlds: [MachineStep] = all.filter { $0.input == .command(.pause) }
}
