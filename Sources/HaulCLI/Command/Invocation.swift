import ArgumentParser
import HaulCore

/// What a command line requests.
package enum Invocation: Hashable, Sendable {
  case get(GetPlan)
  case put(PutPlan)
  case probe(ProbePlan)
  case verify(VerifyPlan)
  case cache(CachePlan)
  case control(ControlPlan)
  case serve(ServePlan)
  /// Text for standard output: help, the version, a completion script.
  case print(String)
}

extension Invocation {
  /// Parses the arguments (without the program's name); starts nothing.
  /// - Parameter sources: where options may read values from.
  package init(_ arguments: [String], from sources: CommandSources) throws(UsageError) {
    do {
      self = try Self.parse(arguments, from: sources)
    } catch {
      if let message = NotYetSupported.message(about: arguments) { throw UsageError(message) }
      throw error
    }
  }

  private static func parse(
    _ arguments: [String], from sources: CommandSources
  ) throws(UsageError) -> Invocation {
    guard !arguments.isEmpty else {
      throw UsageError("no command is given; for example: haul get URL; see 'haul --help'")
    }
    let command: any ParsableCommand
    do {
      command = try HaulCommand.parseAsRoot(arguments)
    } catch {
      return try outcome(of: error, arguments)
    }
    switch command {
    case let help as HelpCommand: return try self.help(of: help.command)
    case let get as GetCommand where get.shortHelp: return .print(ShortHelp.get)
    case let get as GetCommand where PutPlan.isRemote(get.destination.output):
      return .put(try Settings.plan(get, from: arguments, sources, PutPlan.init))
    case let get as GetCommand:
      return .get(try Settings.plan(get, from: arguments, sources, GetPlan.init))
    case let put as PutCommand:
      return .put(try Settings.plan(put, from: arguments, sources, PutPlan.init))
    case let probe as ProbeCommand:
      return .probe(try Settings.plan(probe, from: arguments, sources, ProbePlan.init))
    case let verify as VerifyCommand:
      let plan = try Settings.plan(verify, from: arguments, sources) {
        (command, _) throws(UsageError) in try VerifyPlan(command)
      }
      return .verify(plan)
    case is CacheCommand:
      throw UsageError("give list, size, purge or get; see 'haul cache --help'")
    case let list as CacheListCommand: return .cache(.list(json: list.json))
    case let size as CacheSizeCommand: return .cache(.size(json: size.json))
    case let purge as CachePurgeCommand:
      return .cache(try CachePlan(purge, at: sources.wallSeconds))
    case let get as CacheGetCommand:
      let plan = try Settings.plan(get, from: arguments, sources) {
        (command, sources) throws(UsageError) in try GetPlan(try GetCommand(command), sources)
      }
      return .get(plan)
    case let add as AddCommand:
      return .control(.add(try Settings.plan(add, from: arguments, sources, AddPlan.init)))
    case let serve as ServeCommand:
      guard serve.notices.notifyCommand.isEmpty else {
        throw UsageError(
          "\(NoticeOptions.command) is for the configuration file only: see docs/command-line.md")
      }
      return .serve(try Settings.plan(serve, from: arguments, sources, ServePlan.init))
    default:
      if let plan = try ControlPlan.of(command, at: sources.wallSeconds) { return .control(plan) }
      do {
        var command = command
        try command.run()
      } catch {
        return try outcome(of: error, arguments)
      }
      return .print("")
    }
  }

  private static let commands = HaulCommand.configuration.subcommands

  private static let commandNames = commands.compactMap { $0.configuration.commandName }

  /// - Parameter names: of the command and, below it, of its own command.
  private static func help(of names: [String]) throws(UsageError) -> Invocation {
    guard !names.isEmpty, names != ["help"] else { return .print(HaulCommand.helpMessage()) }
    var command: any ParsableCommand.Type = HaulCommand.self
    for name in names {
      let inner = command.configuration.subcommands
      guard let next = inner.first(where: { $0.configuration.commandName == name }) else {
        throw unknown(name)
      }
      command = next
    }
    return .print(HaulCommand.helpMessage(for: command))
  }

  private static func unknown(_ name: String) -> UsageError {
    if let url = try? AddressArgument.url(name) {  // otherwise it is not an address
      let shown = url.redacted
      let isExact = !shown.hasBytes("*") && !shown.hasBytes("'")
      return UsageError("to download it: haul get \(isExact ? quoted(shown) : "URL")")
    }
    let word = AddressArgument.redacted(name)
    guard let guess = usualNames[name] ?? nearest(to: name) else {
      return UsageError(
        "there is no command '\(word)'; to download: haul get URL; see 'haul --help'")
    }
    return UsageError("there is no command '\(word)'; did you mean 'haul \(guess)'?")
  }

  /// What other programs call it.
  private static let usualNames = [
    "rm": "remove", "delete": "remove", "del": "remove", "purge": "remove", "ls": "list",
    "ps": "list", "status": "list", "queue": "list", "history": "list", "log": "watch",
    "logs": "watch", "top": "watch", "tail": "watch", "progress": "watch", "info": "show",
    "inspect": "show", "why": "explain", "stop": "pause", "kill": "cancel", "abort": "cancel",
    "continue": "resume", "download": "get", "fetch": "get", "upload": "put", "send": "put",
    "push": "put", "enqueue": "add", "mv": "move", "check": "verify", "head": "probe",
    "web": "ui", "daemonize": "serve",
  ]

  /// The command with almost this name; in a short name, one wrong letter makes another word.
  private static func nearest(to name: String) -> String? {
    let distances = commandNames.map { (name: $0, count: EditDistance.distance(name, $0)) }
    let nearest = distances.min { $0.count < $1.count }
    return nearest.flatMap { $0.count <= min(2, (name.count + 1) / 2) ? $0.name : nil }
  }

  /// Quoted so that a shell reads it as one word.
  private static func quoted(_ text: String) -> String {
    text.contains { "&?*;()<>|$ !#[]".contains($0) } ? "'\(text)'" : text
  }

  /// The parser throws help and version as errors; any other error is wrong usage.
  private static func outcome(
    of error: any Error, _ arguments: [String]
  ) throws(UsageError) -> Invocation {
    guard HaulCommand.exitCode(for: error) != .success else {
      let text = HaulCommand.fullMessage(for: error)
      return .print(NameCompletion.added(to: HelpCompletion.added(to: text)))
    }
    let name = arguments.first ?? ""
    if !name.hasBytePrefix("-"), !commandNames.contains(name) { throw unknown(name) }
    if name == "get", let hint = OtherToolOption.hint(in: arguments, own: GetCommand.letters) {
      throw UsageError(hint)
    }
    var line = ParserMessage.line(HaulCommand.message(for: error))
    // The parser repeats words that it does not understand, and an address may hold secrets.
    // Compared by scalars: otherwise a word that starts with a combining mark is not found.
    for address in arguments where AddressArgument.isLikely(address) {
      let shown = AddressArgument.redacted(address).unicodeScalars
      line = String(line.unicodeScalars.replacing(address.unicodeScalars, with: shown))
    }
    let command = commandNames.contains(name) && name != "help" ? "\(name) " : ""
    throw UsageError("\(line); see 'haul \(command)--help'")
  }
}
