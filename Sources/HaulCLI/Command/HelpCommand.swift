import ArgumentParser

/// `haul help COMMAND`. It replaces the parser's help command, which accepts unknown commands.
struct HelpCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "help", abstract: "Shows the help of a command.", shouldDisplay: false)

  @Argument(help: ArgumentHelp("The command.", valueName: "COMMAND"))
  var command: [String] = []
}
