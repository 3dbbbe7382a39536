import ArgumentParser
import HaulCore
import Synchronization

/// A command line with the defaults of the configuration file.
enum Settings {
  /// The plan for the user's options, with defaults from the file.
  /// - Parameter arguments: all arguments, from which `own` was parsed.
  /// - Throws: as `plan` of the command; an error that the file causes names the file and the line.
  static func plan<Own: Command>(
    _ own: Own, from arguments: [String], _ sources: CommandSources
  ) throws(UsageError) -> any CommandPlan {
    guard let overridden = try own.overriddenSettings(), let file = try SettingsFile.read(sources)
    else { return try own.plan(sources) }
    let name = Own.configuration.commandName
    let rest = arguments.drop { $0 != name }.dropFirst()
    func command(_ defaults: [Default]) throws(UsageError) -> Own {
      try UsageError.checked(Own.with(defaults.map(\.word) + rest), at: file.path)
    }
    let defaults = try Default.all(in: file).filter { line in
      // A command ignores options of `get` that it does not have.
      !overridden.contains(line.subject)
        && (Own.self == GetCommand.self ? line.isOfGet : (try? command([line])) != nil)
    }
    var sources = sources
    sources.servers = try ServerSettings(file, given: overridden)
    let merged = try command(defaults)
    let answer = Mutex(Result<String?, UsageError>.success(""))
    var asking = sources
    let ask = sources.askPassword
    asking.askPassword = { (user) throws(UsageError) in
      let given = Result { () throws(UsageError) in try ask(user) }
      answer.withLock { $0 = given }
      return try given.get()
    }
    do {
      return try merged.plan(asking)
    } catch {
      // A person is asked once, and an attempt gets the same answer.
      let known = answer.withLock { $0 }
      var silent = sources
      silent.askPassword = { (_) throws(UsageError) in try known.get() }
      throw locatingError(error, on: defaults, of: file) { (lines) throws(UsageError) in
        _ = try command(lines).plan(silent)
      }
    }
  }

  /// The error, with the name of the file if it is caused by the file, and the line if one line
  /// alone causes it.
  private static func locatingError(
    _ error: UsageError, on defaults: [Default], of file: SettingsFile,
    _ attempt: ([Default]) throws(UsageError) -> Void
  ) -> UsageError {
    func fails(_ lines: [Default]) -> Bool {
      do throws(UsageError) {
        try attempt(lines)
        return false
      } catch let found {
        return found == error
      }
    }
    if fails([]) { return error }
    let cause = defaults.first { fails([$0]) }
    guard let entry = cause?.entry else { return UsageError("\(file.path): \(error.message)") }
    // The line has the option without its dashes.
    let reason = error.message.dropping(bytePrefix: "--\(entry.key): ") ?? error.message[...]
    return UsageError("\(file.path): line \(entry.line): \(entry.key): \(reason)")
  }
}

extension Settings {
  /// A line of the file as a command-line argument.
  struct Default {
    let entry: SettingsFile.Entry
    let word: String
    /// Whether it is an option of `haul get`; otherwise it is one of `haul serve` only.
    let isOfGet: Bool

    /// What it sets: the option, or one header field.
    var subject: String {
      entry.key == "header" ? Settings.subject(ofHeader: entry.value ?? "") : entry.key
    }

    /// - Throws: the first line that is not a valid option of `haul get` or `haul serve` by itself.
    static func all(in file: SettingsFile) throws(UsageError) -> [Default] {
      var defaults: [Default] = []
      for entry in file.entries where entry.origin == nil {
        do {
          let isOfGet = !ServeCommand.ownOptions.contains(entry.key)
          let word = try isOfGet ? entry.word(GetCommand.self) : entry.word(ServeCommand.self)
          defaults.append(Default(entry: entry, word: word, isOfGet: isOfGet))
        } catch {
          throw UsageError("\(file.path): line \(entry.line): \(error.message)")
        }
      }
      return defaults
    }
  }

  static func subject(ofHeader text: String) -> String {
    "header \(text.prefix(beforeAnyOf: ":").lowercased())"
  }
}

extension SettingsFile.Entry {
  fileprivate func word<Known: Command>(_ command: Known.Type) throws(UsageError) -> String {
    // The name of a flag turns it on, without a value.
    let flag = value == "false" ? "--no-\(key)" : "--\(key)"
    if value == "true" || value == "false", Self.problem(of: flag, command) == nil { return flag }
    let word = value.map { "--\(key)=\($0)" } ?? flag
    guard let problem = Self.problem(of: word, command) else { return word }
    let name = Known.configuration.commandName
    if let message = NotYetSupported.message(about: [word], of: name) {
      throw UsageError(String(message.dropFirst(2)))
    }
    if problem.hasByteSuffix("takes no value") { throw UsageError("\(key): write true or false") }
    // Without the value, which the user sees in the line.
    var scalars = problem.unicodeScalars
    for hidden in [" '\(value ?? "")'", "--"] {
      scalars = scalars.replacing(hidden.unicodeScalars, with: String.UnicodeScalarView())
    }
    throw UsageError(String(scalars))
  }

  /// Why the argument is not a valid option of the command; nil if it is.
  private static func problem<Known: Command>(of word: String, _ command: Known.Type) -> String? {
    do throws(UsageError) {
      _ = try Known.with([word])
      return nil
    } catch {
      return error.message
    }
  }
}
