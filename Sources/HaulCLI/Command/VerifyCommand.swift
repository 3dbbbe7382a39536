import ArgumentParser
package import HaulCore
import HaulKit

struct VerifyCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Checks an existing file.",
    discussion: """
      Examples:
        haul verify big.iso --checksum sha-256=HEX
        haul verify -q big.iso --checksum md5=HEX && echo good

      Exit status: 0 the file has the digest, 1 it does not or cannot be read, 2 wrong usage.
      """)

  @Argument(help: ArgumentHelp("The file to check.", valueName: "FILE"), completion: .file())
  var path: String

  @Option(
    name: .customLong("checksum"),
    help: ArgumentHelp(
      "A digest that it must have: sha-256, sha-512, sha-384, sha-1, md5 or crc32c; may be repeated.",
      valueName: "ALG=HEX"))
  var checksums: [String]

  @Flag(
    name: .shortAndLong, inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Print only errors.")
  var quiet: Bool?

  /// A digest in the configuration is for another file.
  func overriddenSettings() -> Set<String>? { ["checksum"] }

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    guard !path.isEmpty, !path.hasBytes("\0") else {
      throw UsageError("the file's name is empty or has a NUL")
    }
    return VerifyPlan(
      path: path, checksums: try GetPlan.checksums(checksums), quiet: quiet ?? false)
  }
}

/// What `haul verify` checks.
package struct VerifyPlan: CommandPlan, Hashable {
  package var path: String
  package var checksums: [Checksum]
  package var quiet: Bool

  package func run(in context: ProcessContext) async -> ExitStatus {
    let name = Messages.shown(path)
    do {
      try await FileVerifier.verify(path: path, checksums: checksums)
    } catch {
      let reason = Messages.shown(error.commandLineText)
      await OutputStream.standardError.write("haul: \(name): \(reason)\n")
      return .failed
    }
    if !quiet {
      let algorithms = checksums.map(\.algorithm.rawValue).joined(separator: ", ")
      let verb = checksums.count == 1 ? "matches" : "match"
      await OutputStream.standardError.write("\(name): \(algorithms) \(verb)\n")
    }
    return .completed
  }
}
