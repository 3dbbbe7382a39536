import ArgumentParser

/// The arguments of `haul verify`.
struct VerifyCommand: ParsableCommand {
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
}
