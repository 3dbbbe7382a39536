import ArgumentParser

/// What the words of a command line ask for.
package enum Invocation: Hashable, Sendable {
  case get(GetPlan)
  case probe(ProbePlan)
  case verify(VerifyPlan)
  /// Text for standard output: help, the version, a completion script.
  case print(String)
}

extension Invocation {
  /// Reads the arguments (without the program's name); starts nothing.
  /// - Parameter sources: what options may bring in from elsewhere.
  package init(_ arguments: [String], from sources: CommandSources) throws(UsageError) {
    if let name = NotYetSupported.command(in: arguments) {
      throw UsageError("the command '\(name)' is not yet supported")
    }
    do {
      self = try Self.parse(arguments, from: sources)
    } catch {
      if let name = NotYetSupported.option(in: arguments) {
        throw UsageError("\(name) is not yet supported")
      }
      throw error
    }
  }

  private static func parse(
    _ arguments: [String], from sources: CommandSources
  ) throws(UsageError) -> Invocation {
    guard !arguments.isEmpty else {
      throw UsageError("what is to be done? For example: haul get URL; see 'haul --help'")
    }
    let command: any ParsableCommand
    do {
      command = try HaulCommand.parseAsRoot(arguments)
    } catch {
      return try outcome(of: error, arguments)
    }
    switch command {
    case let get as GetCommand: return .get(try GetSettings.plan(get, from: arguments, sources))
    case let probe as ProbeCommand: return .probe(try ProbePlan(probe, sources))
    case let verify as VerifyCommand: return .verify(try VerifyPlan(verify))
    default:
      do {
        var command = command
        try command.run()
      } catch {
        return try outcome(of: error, arguments)
      }
      return .print("")
    }
  }

  private static var commandNames: [String] {
    HaulCommand.configuration.subcommands.map { $0._commandName } + ["help"]
  }

  /// Help and version are errors to the parser; the rest is wrong usage.
  private static func outcome(
    of error: any Error, _ arguments: [String]
  ) throws(UsageError) -> Invocation {
    guard HaulCommand.exitCode(for: error) != .success else {
      return .print(HaulCommand.fullMessage(for: error))
    }
    let name = arguments.first ?? ""
    if !name.hasPrefix("-"), !commandNames.contains(name) {
      let word = AddressArgument.redacted(name)
      throw UsageError(
        "there is no command '\(word)'; to download: haul get URL; see 'haul --help'")
    }
    var line = HaulCommand.message(for: error).split(separator: "\n").joined(separator: " ")
    // The parser repeats the words that it does not understand; an address may hold secrets.
    // By scalars: a word that begins with a combining mark is no word of its own otherwise.
    for address in arguments where AddressArgument.isLikely(address) {
      let shown = AddressArgument.redacted(address).unicodeScalars
      line = String(line.unicodeScalars.replacing(address.unicodeScalars, with: shown))
    }
    let command = ["get", "probe", "verify"].contains(name) ? "\(name) " : ""
    throw UsageError("\(line); see 'haul \(command)--help'")
  }
}
