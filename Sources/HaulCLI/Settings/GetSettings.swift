import ArgumentParser

/// `haul get` with the defaults of the configuration file.
enum GetSettings {
  /// The plan of what the user wrote, after what the file has.
  /// - Parameter arguments: all words, of which `own` was made.
  /// - Throws: as `GetPlan`; an error that the file is the cause of names the file and the key.
  static func plan(
    _ own: GetCommand, from arguments: [String], _ sources: CommandSources
  ) throws(UsageError) -> GetPlan {
    guard let settings = try SettingsFile.read(sources), !settings.entries.isEmpty else {
      return try GetPlan(own, sources)
    }
    try settings.check()
    let home = sources.environment["HOME"]
    let merged = try command(settings.words(before: own, arguments, home: home), arguments)
    do {
      return try GetPlan(merged, sources)
    } catch {
      throw blamed(error, settings, own, arguments, sources)
    }
  }

  /// The user's words with others before them; every one of those was checked.
  private static func command(
    _ words: [String], _ arguments: [String]
  ) throws(UsageError) -> GetCommand {
    let start = arguments.firstIndex(of: "get") ?? arguments.startIndex
    do {
      return try GetCommand.parse(words + arguments[(start + 1)...])
    } catch {
      throw UsageError(
        ParserMessage.rewritten(
          GetCommand.message(for: error).split(separator: "\n").joined(separator: " ")))
    }
  }

  /// The error, with the file and the key when the user's words alone do not have it.
  private static func blamed(
    _ error: UsageError, _ settings: SettingsFile, _ own: GetCommand, _ arguments: [String],
    _ sources: CommandSources
  ) -> UsageError {
    var silent = sources
    silent.askPassword = { (_) throws(UsageError) in "" }
    func fails(_ command: GetCommand) -> Bool {
      do {
        _ = try GetPlan(command, silent)
        return false
      } catch let found {
        return found == error
      }
    }
    if fails(own) { return error }
    let home = sources.environment["HOME"]
    for entry in settings.entries {
      var alone = settings
      alone.entries = [entry]
      let words = alone.words(before: own, arguments, home: home)
      if let one = try? command(words, arguments), fails(one) {  // else it is not this key alone
        return UsageError("\(settings.path): \(entry.key): \(error.message)")
      }
    }
    return UsageError("\(settings.path): \(error.message)")
  }
}
