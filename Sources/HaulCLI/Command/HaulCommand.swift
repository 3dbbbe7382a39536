import ArgumentParser

/// The version that `--version` prints.
package enum HaulVersion {
  package static let text = "0.1.0"
}

/// The command line's root: only parses; nothing is done in here.
struct HaulCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "haul",
    abstract: "Downloads files in parallel ranges, resumes after anything, and is never wrong.",
    discussion: """
      Examples:
        haul get https://example.org/big.iso
        haul get -d Downloads https://example.org/a.zip https://example.org/b.zip
        haul probe https://example.org/big.iso
        haul verify big.iso --checksum sha-256=9f86d081884c7d659a2feaa0c55ad015...

      'haul help COMMAND' tells the options of a command.
      """,
    version: "haul \(HaulVersion.text)",
    subcommands: [GetCommand.self, ProbeCommand.self, VerifyCommand.self])
}
