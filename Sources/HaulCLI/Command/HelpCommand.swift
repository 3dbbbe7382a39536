import ArgumentParser

/// `haul help COMMAND`: the parser's own version accepts unknown commands.
struct HelpCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "help", abstract: "Shows the help of a command.", shouldDisplay: false)

  @Argument(help: ArgumentHelp("The command.", valueName: "COMMAND"))
  var command: String?
}
