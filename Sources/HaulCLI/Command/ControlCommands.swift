import ArgumentParser
import HaulControl

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

/// A command with a selection and nothing else.
protocol QueueCommand: ParsableCommand {
  static var name: CommandBody.Name { get }
  static var abstract: String { get }
  var transfers: SelectionOptions { get }
}

extension QueueCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(commandName: name.rawValue, abstract: abstract)
  }

  func body() throws(UsageError) -> CommandBody {
    CommandBody(Self.name, try transfers.selection())
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
}

struct RestartCommand: QueueCommand {
  static let name = CommandBody.Name.restart
  static let abstract = "Runs transfers again from the beginning, whatever their state."
  @OptionGroup var transfers: SelectionOptions
}

struct RemoveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Cancels transfers and removes them from the list; finished files stay.")
  @OptionGroup var transfers: SelectionOptions

  @Flag(help: "Also delete finished files that haul made and nobody has changed since.")
  var deleteFile = false

  func body() throws(UsageError) -> CommandBody {
    var body = CommandBody(.remove, try transfers.selection())
    body.deletesFiles = deleteFile
    return body
  }
}

struct CancelCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cancel", abstract: "Cancels transfers and deletes their part files.")
  @OptionGroup var transfers: SelectionOptions

  @Flag(help: "Keep the part files.")
  var keepPart = false

  func body() throws(UsageError) -> CommandBody {
    var body = CommandBody(.cancel, try transfers.selection())
    body.keepsPart = keepPart
    return body
  }
}

struct StartCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "start", abstract: "Starts queued or paused transfers before all others.")
  @OptionGroup var transfers: SelectionOptions

  @Flag(help: "Start at once, ignoring limits, suspension and the schedule.")
  var force = false

  func body() throws(UsageError) -> CommandBody {
    var body = CommandBody(.start, try transfers.selection())
    body.force = force
    return body
  }
}

struct MoveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "move", abstract: "Moves transfers in the list.")
  @OptionGroup var transfers: SelectionOptions

  @Flag(help: "To the front of the list.")
  var first = false

  @Flag(help: "To the end of the list.")
  var last = false

  @Option(help: ArgumentHelp("Before that transfer.", valueName: "ID"))
  var before: String?

  func body() throws(UsageError) -> CommandBody {
    var body = CommandBody(.move, try transfers.selection())
    switch (first, last, before) {
    case (true, false, nil): body.to = .init(first: true)
    case (false, true, nil): body.to = .init(last: true)
    case (false, false, let before?): body.to = .init(before: before)
    default: throw UsageError("give --first, --last or --before ID")
    }
    return body
  }
}
