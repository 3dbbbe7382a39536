import ArgumentParser
import HaulControl
import HaulCore

/// The transfers that a command is for.
struct SelectionOptions: ParsableArguments {
  @Argument(
    help: ArgumentHelp(
      "Ids, unique prefixes of ids, or names given with --id.", valueName: "ID"),
    completion: .transfers)
  var ids: [String] = []

  @Option(
    help: ArgumentHelp("All transfers of this group.", valueName: "NAME"), completion: .groups)
  var group: String?

  @Flag(help: "All transfers.")
  var all = false

  /// - Throws: unless exactly one of them is given.
  func selection() throws(UsageError) -> Selection {
    switch (ids.isEmpty, group, all) {
    case (false, nil, false): Selection(ids: ids)
    case (true, let group?, false): Selection(group: group)
    case (true, nil, true): Selection(all: true)
    case (true, nil, false): throw UsageError("give ids, --group NAME or --all")
    default: throw UsageError("give either ids, --group or --all")
    }
  }
}

/// A command that changes the state of the transfers of a selection.
protocol QueueCommand: Command {
  static var name: CommandBody.Name { get }
  static var abstract: String { get }
  var transfers: SelectionOptions { get }

  /// What comes before the command; nil if nothing does.
  func preparation(_ sources: CommandSources) throws(UsageError) -> Preparation?
  /// The transfers that it is for.
  func selection(at wallSeconds: Double) throws(UsageError) -> Selection

  /// Adds the command's own options.
  func apply(to body: inout CommandBody) throws(UsageError)
}

/// - Returns: whether the command may follow.
typealias Preparation = @Sendable (ControlSession, Selection) async throws -> Bool

extension QueueCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(commandName: name.rawValue, abstract: abstract)
  }

  func selection(at wallSeconds: Double) throws(UsageError) -> Selection {
    try transfers.selection()
  }

  func apply(to body: inout CommandBody) {}

  func preparation(_ sources: CommandSources) throws(UsageError) -> Preparation? { nil }

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    var body = CommandBody(Self.name, try selection(at: sources.wallSeconds))
    try apply(to: &body)
    let prepare = try preparation(sources)
    return ControlPlan { [body] session in
      if let prepare, try await !prepare(session, body.transfers) { return .failed }
      let (answer, areAllKnown) = try await session.forKnown(body.transfers) {
        (known) async throws(ControlClient.Failure) in
        var body = body
        body.transfers = known
        return try await session.client.perform(body)
      }
      guard let answer else { return .failed }
      if body.transfers.isOfEnds { return await report(ends: answer) }
      if answer.ids.isEmpty, let group = body.transfers.group {
        return await session.isEmpty(group)
      }
      let isNamed = body.transfers.ids != nil
      let status = await report(answer, isNamed: isNamed)
      let isDone = isNamed ? try await explain(answer, session) : true
      return areAllKnown && isDone ? status : .failed
    }
  }

  /// - Parameter isNamed: whether the user named each transfer. For a group, or for all, refusals
  ///   because of the state are not reported.
  private func report(_ answer: CommandResponse, isNamed: Bool) async -> ExitStatus {
    let refused = answer.refused.filter { isNamed || !$0.reason.isOfState }
    for refusal in refused { await OutputStream.warn("\(refusal.id): \(refusal.message)") }
    for path in answer.left {
      await OutputStream.warn(
        "\(path) was not deleted: it has changed, or the daemon may not delete it")
    }
    return refused.isEmpty && answer.left.isEmpty ? .completed : .failed
  }

  /// Says how many of those that have ended it was for.
  private func report(ends answer: CommandResponse) async -> ExitStatus {
    let status = await report(answer, isNamed: false)
    let count = answer.ids.count - answer.refused.count
    await OutputStream.warn("removed \(Units.count(count)) from the list")
    return status
  }

  /// Says why a start or a retry of a blocked transfer has no effect yet, and a pause of a program
  /// none at all.
  /// - Returns: whether no program was to be paused.
  private func explain(
    _ answer: CommandResponse, _ session: ControlSession
  ) async throws(ControlClient.Failure) -> Bool {
    guard [.start, .retry, .pause].contains(Self.name) else { return true }
    let refused = Set(answer.refused.map(\.id))
    var isDone = true
    for id in answer.ids where !refused.contains(id) {
      guard let transfer = try await session.transfer(id) else { continue }
      let isBlocked = Self.name != .pause && transfer.waiting?.isBlocked == true
      guard isBlocked || transfer.runsToEnd else { continue }
      let why = await session.explanation(transfer).dropLast()
      await OutputStream.warn("\(id): \(isBlocked ? "it does not start yet: " : "")\(why)")
      if Self.name == .pause { isDone = false }
    }
    return isDone
  }
}

struct PauseCommand: QueueCommand {
  static let name = CommandBody.Name.pause
  static let abstract = "Pauses transfers; their bytes are kept."
  @OptionGroup var transfers: SelectionOptions
}

struct ResumeCommand: QueueCommand {
  static let name = CommandBody.Name.resume
  static let abstract = "Resumes paused transfers when a slot is free."
  @OptionGroup var transfers: SelectionOptions
}

struct RequeueCommand: QueueCommand {
  static let name = CommandBody.Name.requeue
  static let abstract = "Stops transfers and queues them again; bytes and positions are kept."
  @OptionGroup var transfers: SelectionOptions
}

struct RetryCommand: QueueCommand {
  static let name = CommandBody.Name.retry
  static let abstract = "Runs failed or cancelled transfers again; downloads resume if possible."
  @OptionGroup var transfers: SelectionOptions
  @OptionGroup(title: "Credentials") var access: AccessOptions

  func preparation(_ sources: CommandSources) throws(UsageError) -> Preparation? {
    guard let change = try AccessChange(access, sources) else { return nil }
    return { session, selection in
      let transfers = try await session.documents(of: selection).filter {
        selection.ids != nil || [.failed, .cancelled].contains($0.state)
          || $0.waiting?.reason == .credentialsRefused
      }
      guard !transfers.isEmpty else { return true }
      return try await change.apply(to: transfers, session)
    }
  }
}

struct RestartCommand: QueueCommand {
  static let name = CommandBody.Name.restart
  static let abstract = "Runs transfers again from the beginning, whatever their state."
  @OptionGroup var transfers: SelectionOptions
}

struct CancelCommand: QueueCommand {
  static let name = CommandBody.Name.cancel
  static let abstract = "Cancels transfers and deletes their part files."
  @OptionGroup var transfers: SelectionOptions

  @Flag(help: "Keep the part files.")
  var keepPart = false

  func apply(to body: inout CommandBody) { body.keepsPart = keepPart }
}

struct StartCommand: QueueCommand {
  static let name = CommandBody.Name.start
  static let abstract = "Starts queued or paused transfers before all others."
  @OptionGroup var transfers: SelectionOptions

  @Flag(help: "Start at once, ignoring limits, suspension and the schedule.")
  var force = false

  func apply(to body: inout CommandBody) { body.force = force }
}

struct MoveCommand: QueueCommand {
  static let name = CommandBody.Name.move
  static let abstract = "Moves transfers in the list."
  @OptionGroup var transfers: SelectionOptions

  @Flag(help: "To the front of the list.")
  var first = false

  @Flag(help: "To the end of the list.")
  var last = false

  @Option(help: ArgumentHelp("Before that transfer.", valueName: "ID"))
  var before: String?

  func apply(to body: inout CommandBody) throws(UsageError) {
    switch (first, last, before) {
    case (true, false, nil): body.to = .init(first: true)
    case (false, true, nil): body.to = .init(last: true)
    case (false, false, let before?): body.to = .init(before: before)
    default: throw UsageError("give --first, --last or --before ID")
    }
  }
}

extension CommandRefusal {
  /// Whether only the state of the transfer refuses the command.
  fileprivate var isOfState: Bool {
    switch self {
    case .isCompleted, .hasFailed, .isCancelled, .isRunning: true
    case .isBeingCancelled, .isBeingRemoved, .targetIsTaken, .isUnknown: false
    }
  }
}
