import ArgumentParser

/// `haul help COMMAND`: the parser's own neither completes commands nor refuses unknown ones.
struct HelpCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "help", abstract: "Shows the help of a command.", shouldDisplay: false)

  @Argument(
    help: ArgumentHelp("The command.", valueName: "COMMAND"),
    completion: .list(["get", "probe", "verify"]))
  var command: String?
}
