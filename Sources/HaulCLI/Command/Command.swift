import ArgumentParser
import HaulCore

/// A command of `haul`: its options, what they mean, and what it does. One file describes it, and
/// `HaulCommand` lists it.
protocol Command: ParsableCommand, Sendable {
  /// What the command will do, made from its options; starts nothing.
  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan

  /// Subjects of lines of the configuration file that contradict the user's options, which override
  /// them. Options that both have are left out: the last one counts. Nil if the command does not
  /// read the file.
  /// - Throws: for an option that only the file may have.
  func overriddenSettings() throws(UsageError) -> Set<String>?
}

extension Command {
  func overriddenSettings() throws(UsageError) -> Set<String>? { nil }

  /// The command with these arguments, and the defaults of its other options.
  static func with(_ arguments: [String] = []) throws(UsageError) -> Self {
    do {
      return try parse(arguments)
    } catch {
      throw UsageError(ParserMessage.line(message(for: error)))
    }
  }
}

/// What a command will do.
package protocol CommandPlan: Sendable {
  /// - Returns: the exit status, when the output was written.
  func run(in context: ProcessContext) async -> ExitStatus
}

/// Prints text on standard output: help, the version, a completion script.
package struct PrintedText: CommandPlan {
  package let text: String

  package func run(in context: ProcessContext) async -> ExitStatus {
    let isWhole = text.isEmpty || text.hasByteSuffix("\n")
    return await OutputStream.show(isWhole ? text : text + "\n")
  }
}
