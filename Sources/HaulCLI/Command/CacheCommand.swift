import ArgumentParser

/// The commands for the cache of `haul get --cache`.
struct CacheCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache",
    abstract: "Shows or empties the cache of 'get --cache', or reads a file through it.",
    discussion: """
      The cache is the directory haul in $XDG_CACHE_HOME, or in ~/.cache. It keeps at most 512 \
      MiB, and files of at most 32 MiB, as long as HTTP allows (RFC 9111). 'get --cache' \
      downloads without it if it cannot be used.

      Examples:
        haul cache get https://example.org/y.iso > y.iso
        haul cache list
        haul cache size --json
        haul cache purge --unused-for 168h

      Exit status: 0 done; 1 an error; 2 wrong usage; that of 'haul get' for 'haul cache get'.
      """,
    subcommands: [
      CacheListCommand.self, CacheSizeCommand.self, CachePurgeCommand.self, CacheGetCommand.self,
    ])
}

struct CacheListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Lists the files in the cache, the last used first.")

  @Flag(help: "Print one JSON object per line.")
  var json = false
}

struct CacheSizeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "size", abstract: "Prints how many files and bytes the cache has.")

  @Flag(help: "Print one JSON object.")
  var json = false
}

struct CachePurgeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "purge",
    abstract: "Removes files from the cache: all, or those that are selected.",
    discussion: """
      A URL selects every copy of exactly that address, also those that were fetched with \
      credentials.
      """)

  @Argument(help: ArgumentHelp("Only the copies of these addresses.", valueName: "URL"))
  var urls: [String] = []

  @Option(
    help: ArgumentHelp("Only copies that were not used for this long.", valueName: "DURATION"),
    transform: ArgumentValue.duration)
  var unusedFor: Duration?

  @Option(
    help: ArgumentHelp(
      "Only as many as needed, the least recently used first, until this much is left.",
      valueName: "SIZE"),
    transform: ArgumentValue.bytes)
  var downTo: Int64?

  @Flag(name: .shortAndLong, help: "Print only errors.")
  var quiet = false
}

struct CacheGetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Writes a file to standard output, from the cache if its copy is fresh.",
    discussion: "It is 'haul get --cache -o - URL'; with -o FILE, 'haul get --cache -o FILE URL'.")

  @Argument(help: ArgumentHelp("What to read.", valueName: "URL"))
  var url: String

  @Option(
    name: [.customShort("o", allowingJoined: true), .long],
    help: ArgumentHelp("The file, in place of standard output.", valueName: "FILE"),
    completion: .file())
  var output: String?

  @Option(
    name: .customLong("checksum"),
    help: ArgumentHelp("A digest that the file must have; may be repeated.", valueName: "ALG=HEX"))
  var checksums: [String] = []

  @OptionGroup(title: "Credentials") var credentials: CredentialOptions
  @OptionGroup(title: "Network") var requests: RequestOptions
  @OptionGroup(title: "Network") var connections: ConnectionOptions
  @OptionGroup(title: "Output") var printed: OutputArguments
}

extension GetCommand {
  /// The same download, through the cache.
  init(_ command: CacheGetCommand) throws(UsageError) {
    do {
      self = try GetCommand.parse(["--cache"])
    } catch {
      throw UsageError(ParserMessage.line(GetCommand.message(for: error)))
    }
    urls = [command.url]
    destination.output = command.output ?? "-"
    content.checksums = command.checksums
    (credentials, output) = (command.credentials, command.printed)
    (requests, connections) = (command.requests, command.connections)
  }
}
