import ArgumentParser

/// The version that `--version` prints.
package enum HaulVersion {
  package static let text = "0.1.0"
}

/// The root of the command line: it only parses. Its help, the completions and the manual pages
/// have the commands in this order.
struct HaulCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "haul",
    abstract: "Downloads and uploads files, and never loses one.",
    discussion: """
      Examples:
        haul get https://example.org/big.iso
        haul get -d Downloads https://example.org/a.zip https://example.org/b.zip
        haul put report.pdf https://example.org/files/
        haul probe https://example.org/big.iso
        haul verify big.iso --checksum sha-256=HEX

      HEX is the digest, as 'sha256sum' prints it. 'haul get -h' shows the most common options, \
      'haul get --help' shows all.
      """,
    version: "haul \(HaulVersion.text)",
    subcommands: [
      GetCommand.self,
      PutCommand.self,
      ProbeCommand.self,
      VerifyCommand.self,
      ManifestCommand.self,
      SplitCommand.self,
      CacheCommand.self,
      HelpCommand.self,
    ],
    groupedSubcommands: [
      CommandGroup(
        name: "Background queue",
        subcommands: [
          AddCommand.self,
          ListCommand.self,
          ShowCommand.self,
          ExplainCommand.self,
          LogCommand.self,
          HistoryCommand.self,
          PauseCommand.self,
          ResumeCommand.self,
          RequeueCommand.self,
          CancelCommand.self,
          RetryCommand.self,
          RestartCommand.self,
          RemoveCommand.self,
          StartCommand.self,
          MoveCommand.self,
          SetCommand.self,
          SuspendCommand.self,
          UnsuspendCommand.self,
          LimitsCommand.self,
          WaitCommand.self,
          WatchCommand.self,
          UICommand.self,
          TokenCommand.self,
          ServeCommand.self,
          DaemonCommand.self,
        ])
    ])

  static let names = configuration.subcommands.compactMap { $0.configuration.commandName }
}
