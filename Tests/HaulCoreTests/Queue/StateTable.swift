import HaulCore

/// The effect of each input in each state of a member, in words, computed by the machine itself.
enum StateTable {
  private static let states: [TransferMachine.State] =
    [.queued, .running] + TransferMachine.Intent.allCases.map(TransferMachine.State.stopping)
    + [.paused, .failed, .completed, .cancelled, .removed]
  private static let commands = MachineInput.allCases.filter {
    if case .command = $0 { true } else { false }
  }
  private static let events = MachineInput.allCases.filter {
    if case .command = $0 { false } else { $0 != .reopened }
  }

  static var text: String {
    ([head, matrix("Commands", commands), matrix("Events", events), "## What is done\n"]
      + states.map(details)).joined(separator: "\n")
  }

  private static let head = """
    # States of a member of the queue

    A test generates this page from `TransferMachine`, and fails when the page differs;
    `HAUL_WRITE_DOCS=1 swift test --filter StateTable` writes it. The same tests visit every path
    to each of these states.

    *Queued*, *paused*, *failed*, *completed* and *cancelled* are stored. A *running* or *stopping*
    member is stored with its last command. After a restart of the program, a running member is
    queued (a step that may not run again fails with `interrupted`), and a stopping one obeys that
    command. `TransferState.publishing` is no state of its own here: such a member is *running*,
    without a slot.

    A *queued* member has a `WaitReason`. A retry, a start time, a pause that its server asked for, a
    full disk, a missing directory, no network and refused credentials are stored in the commit that
    makes it wait. Any other reason is computed: from other members, the limits, the host and the
    schedule.

    These words are the same everywhere: in `--state`, in `--json` and in the interface of the
    daemon. The STATE column of `haul list` begins with one of them; details follow after a colon.
    *Stopping* is one word for all four intents below, and *removed* is in none of them, as the
    member is gone.

    In the tables, a dash means that nothing changes. "A; if X: B" means B if X holds, and A
    otherwise. "A / B" means one of them. *force* is `start(force: true)`.

    """

  private static func matrix(_ title: String, _ inputs: [MachineInput]) -> String {
    let rows = states.map { state in
      [name(state)] + inputs.map { cell(state, $0, of: next) }
    }
    return "## \(title)\n\n" + table([[""] + inputs.map(name)] + rows)
  }

  private static func details(_ state: TransferMachine.State) -> String {
    let rows = MachineInput.allCases.filter { $0 != .reopened }.compactMap { input -> [String]? in
      let done = cell(state, input, of: done)
      let becomes = cell(state, input, of: next)
      return done.isEmpty ? nil : [name(input), becomes, done]
    }
    guard !rows.isEmpty else { return "### \(name(state))\n\nNothing.\n" }
    return "### \(name(state))\n\n" + table([["on", "becomes", "what is done"]] + rows)
  }

  private static func table(_ rows: [[String]]) -> String {
    let lines = rows.map { "| " + $0.joined(separator: " | ") + " |" }
    let rule = "|" + String(repeating: "---|", count: rows.first?.count ?? 0)
    return ([lines.first ?? "", rule] + lines.dropFirst()).joined(separator: "\n") + "\n"
  }
}

/// One cell.
extension StateTable {
  private static let conditions: [(summary: String, holds: @Sendable (MachineWorld) -> Bool)] = [
    ("once it has run", { $0.machine.hasRun }),
    ("if it is to start over", { $0.machine.restartsFromZero }),
    (
      "once it has run, unless it is to start over",
      { $0.machine.hasRun && !$0.machine.restartsFromZero }
    ),
    ("if it had failed before", { $0.reported == .failed }),
  ]

  /// What `summary` returns for all ways in which this can happen, with its condition.
  private static func cell(
    _ state: TransferMachine.State, _ input: MachineInput, of summary: (MachineStep) -> String
  ) -> String {
    let steps = MachineStep.all.filter { $0.before.state == state && $0.input == input }
    let all = Set(steps.map(summary))
    guard all.count > 1 else { return all.first ?? "–" }
    for condition in conditions {
      let usual = Set(steps.filter { !condition.holds($0.before) }.map(summary))
      let special = Set(steps.filter { condition.holds($0.before) }.map(summary))
      guard usual.count == 1, special.count == 1, let one = usual.first, let other = special.first
      else { continue }
      return [one, "\(condition.summary): \(other.isEmpty ? "nothing" : other)"]
        .filter { !$0.isEmpty }.joined(separator: "; ")
    }
    return all.map { $0.isEmpty ? "nothing" : $0 }.sorted().joined(separator: " / ")
  }

  private static func next(_ step: MachineStep) -> String {
    switch step.outcome {
    case .refused: "refused"
    case .unchanged: "–"
    case .done: step.before.state == step.after.state ? "–" : name(step.after.state)
    }
  }

  private static func done(_ step: MachineStep) -> String {
    if case .refused(let why) = step.outcome { return "refused: `\(why.rawValue)`" }
    var summary = step.effects.compactMap(Self.summary)
    let restarts = step.input == .command(.restart) && step.after.machine.restartsFromZero
    let restartsFromZero = step.input == .granted && step.after.startedOver
    if step.outcome != .unchanged, restarts { summary.append("its next run begins at byte 0") }
    if restartsFromZero { summary.append("it begins at byte 0") }
    return summary.joined(separator: ", ")
  }

  private static func summary(_ effect: TransferMachine.Effect) -> String? {
    switch effect {
    case .enqueue, .dequeue: nil
    case .stop(deletingBytes: false): "its run is stopped"
    case .stop(deletingBytes: true): "its run is stopped and its bytes are deleted"
    case .discard: "its bytes are deleted"
    case .startNow: "it goes before all others"
    case .force: "it starts beyond the limits"
    case .endWait(beyondLimits: false):
      "while it waits for its next attempt: that goes before all others"
    case .endWait(beyondLimits: true):
      "while it waits for its next attempt: that starts beyond the limits"
    case .reportPaused: "reported as paused"
    case .reportResumed: "reported as resumed"
    case .reportEnd(let end): "reported as \(end.rawValue)"
    }
  }

  private static func name(_ state: TransferMachine.State) -> String {
    switch state {
    case .stopping(.cancelKeepingBytes): "stopping (cancel, keep)"
    case .stopping(let intent): "stopping (\(intent))"
    default: "\(state)"
    }
  }

  private static func name(_ input: MachineInput) -> String {
    switch input {
    case .command(.cancelKeepingBytes): "cancel, keep"
    case .granted: "gets a slot"
    case .ended(let end): "run ends: \(end)"
    case .skipped: "skipped"
    default: "\(input)"
    }
  }
}
