import ArgumentParser

/// `haul help COMMAND`. It replaces the parser's help command, which accepts unknown commands.
struct HelpCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "help", abstract: "Shows the help of a command.", shouldDisplay: false)

  @Argument(help: ArgumentHelp("The command.", valueName: "COMMAND"))
  var command: [String] = []

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    guard !command.isEmpty, command != ["help"] else {
      return PrintedText(text: HaulCommand.helpMessage())
    }
    var type: any ParsableCommand.Type = HaulCommand.self
    for name in command {
      let inner = type.configuration.subcommands
      guard let next = inner.first(where: { $0.configuration.commandName == name }) else {
        throw UnknownCommand.error(name)
      }
      type = next
    }
    return PrintedText(text: HaulCommand.helpMessage(for: type))
  }
}
