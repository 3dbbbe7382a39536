import ArgumentParser

/// The arguments of `haul probe`.
struct ProbeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "probe",
    abstract: "Shows what the server says about a URL, and what 'get' would do; downloads nothing.",
    discussion: """
      Shows length, ranges, validators, name, digest, the address after redirects, the \
      version of HTTP, and the plan: connections, segments, and whether an interrupted \
      download resumes.

      Examples:
        haul probe https://example.org/big.iso
        haul probe -H 'Authorization: Bearer TOKEN' https://example.org/x.bin
        haul probe --json https://example.org/big.iso | jq .length

      Exit status: 0 the server has the file, 1 it does not or is unreachable, 2 wrong usage.
      """)

  @Argument(help: ArgumentHelp("The address to ask about.", valueName: "URL"))
  var url: String

  @OptionGroup(title: "Plan") var plan: ProbeOptions
  @OptionGroup(title: "Plan") var ranges: RangeOptions
  @OptionGroup(title: "Credentials") var credentials: CredentialOptions
  @OptionGroup(title: "Network") var requests: RequestOptions
  @OptionGroup(title: "Network") var connections: ConnectionOptions

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Print one JSON object on standard output.")
  var json: Bool?

  @Flag(
    name: .shortAndLong, inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Print the internal log too, on standard error.")
  var verbose: Bool?
}
