import ArgumentParser
import HaulCore

/// A command line.
package enum Invocation {
  /// The plan for these arguments (without the program's name); starts nothing.
  /// - Parameter sources: where options may read values from.
  package static func plan(
    _ arguments: [String], from sources: CommandSources
  ) throws(UsageError) -> any CommandPlan {
    do {
      return try parse(arguments, sources)
    } catch {
      if let message = NotYetSupported.message(about: arguments) { throw UsageError(message) }
      throw error
    }
  }

  private static func parse(
    _ arguments: [String], _ sources: CommandSources
  ) throws(UsageError) -> any CommandPlan {
    guard !arguments.isEmpty else {
      throw UsageError("no command is given; for example: haul get URL; see 'haul --help'")
    }
    var command: any ParsableCommand
    do {
      command = try HaulCommand.parseAsRoot(arguments)
      // The root throws its help.
      if !(command is any Command) { try command.run() }
    } catch {
      return try outcome(of: error, arguments)
    }
    guard let command = command as? any Command else { return PrintedText(text: "") }
    return try Settings.plan(command, from: arguments, sources)
  }

  /// The parser throws help and version as errors; any other error is wrong usage.
  private static func outcome(
    of error: any Error, _ arguments: [String]
  ) throws(UsageError) -> PrintedText {
    guard HaulCommand.exitCode(for: error) != .success else {
      let text = HaulCommand.fullMessage(for: error)
      return PrintedText(text: NameCompletion.added(to: HelpCompletion.added(to: text)))
    }
    let name = arguments.first ?? ""
    let isKnown = HaulCommand.names.contains(name)
    if !isKnown, !name.hasBytePrefix("-") { throw UnknownCommand.error(name) }
    let hint =
      switch name {
      case "get": OtherToolOption.hint(in: arguments, own: GetCommand.letters)
      case "add":
        UnknownCommand.hint(in: arguments)
          ?? OtherToolOption.hint(in: arguments, own: AddCommand.letters)
      case "put": OtherToolOption.hintForUpload(in: arguments, own: PutCommand.letters)
      default: UnknownCommand.hint(in: arguments)
      }
    if let hint { throw UsageError(hint) }
    var line = ParserMessage.line(HaulCommand.message(for: error))
    // The parser repeats words that it does not understand, and an address may hold secrets.
    // Compared by scalars: otherwise a word that starts with a combining mark is not found.
    for address in arguments where AddressArgument.isLikely(address) {
      let shown = AddressArgument.redacted(address).unicodeScalars
      line = String(line.unicodeScalars.replacing(address.unicodeScalars, with: shown))
    }
    let command = isKnown && name != "help" ? "\(name) " : ""
    throw UsageError("\(line); see 'haul \(command)--help'")
  }
}
