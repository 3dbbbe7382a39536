import ArgumentParser
import FoundationEssentials
import HaulCache
import HaulControl
import HaulCore

/// The commands for the cache of `haul get --cache`.
struct CacheCommand: Command {
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

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    throw UsageError("give list, size, purge or get; see 'haul cache --help'")
  }
}

struct CacheListCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Lists the files in the cache, the last used first.")

  @Flag(help: "Print one JSON object per line.")
  var json = false

  func plan(_ sources: CommandSources) -> any CommandPlan {
    CachePlan { inventory, now, context in
      let entries = try await inventory?.entries(at: now) ?? []
      if json { return await OutputStream.show(try CacheOutput.lines(entries, at: now)) }
      guard !entries.isEmpty else { return await OutputStream.show("the cache is empty\n") }
      return await OutputStream.show(context.fitted(CacheOutput.table(entries, at: now)))
    }
  }
}

struct CacheSizeCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "size", abstract: "Prints how many files and bytes the cache has.")

  @Flag(help: "Print one JSON object.")
  var json = false

  func plan(_ sources: CommandSources) -> any CommandPlan {
    CachePlan { inventory, now, context in
      let (count, bytes) = try await inventory?.size(at: now) ?? (0, 0)
      let size = CacheOutput.Size(
        entries: count, bytes: bytes, limit: UserCache.configuration.diskLimit,
        directory: try UserCache.directory(context.environment))
      return await OutputStream.show(json ? try JSONLines.line(of: size) : size.text)
    }
  }
}

struct CachePurgeCommand: Command {
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

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    let selection = try selection(at: sources.wallSeconds)
    return CachePlan { inventory, now, _ in
      let removed = try await inventory?.remove(selection, at: now) ?? (0, 0)
      if !quiet { await OutputStream.standardError.write(CacheOutput.removed(removed)) }
      return .completed
    }
  }

  /// - Parameter wallSeconds: the present time, in seconds since 1970.
  /// - Throws: when selections contradict each other or an address is wrong.
  private func selection(
    at wallSeconds: Double
  ) throws(UsageError) -> CacheInventory.Selection {
    switch (urls.isEmpty, unusedFor, downTo) {
    case (true, nil, nil): return .all
    case (false, nil, nil):
      var addresses: Set<ResourceURL> = []
      for text in urls { addresses.insert(try AddressArgument.url(text)) }
      return .addresses(addresses)
    case (true, let time?, nil): return .unused(since: wallSeconds - Units.seconds(time))
    case (true, nil, let bytes?): return .allBut(bytes: bytes)
    default: throw UsageError("give URLs, --unused-for or --down-to, and only one of them")
    }
  }
}

struct CacheGetCommand: Command {
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

  func overriddenSettings() -> Set<String>? {
    var keys = Settings.overridden(by: credentials, requests, connections)
    if output == nil || output == "-" { keys.insert("json") }
    return keys.union(Settings.overridden(by: printed))
  }

  /// The same download by `get`, through the cache.
  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    var get = try GetCommand.with(["--cache"])
    get.urls = [url]
    get.destination.output = output ?? "-"
    get.content.checksums = checksums
    (get.credentials, get.output) = (credentials, printed)
    (get.requests, get.connections) = (requests, connections)
    return try get.plan(sources)
  }
}

/// What a command does with the files in the cache, at a time in seconds since 1970.
private struct CachePlan: CommandPlan {
  /// The inventory is nil if there is no such directory: no command creates it.
  let perform: @Sendable (CacheInventory?, Double, ProcessContext) async throws -> ExitStatus

  func run(in context: ProcessContext) async -> ExitStatus {
    do {
      let directory = try UserCache.directory(context.environment)
      let exists = FileManager.default.fileExists(atPath: directory)
      if exists { try PrivateDirectory.prepare(directory, "cache", variable: "XDG_CACHE_HOME") }
      let inventory = exists ? CacheInventory(UserCache.configuration, at: directory) : nil
      return try await perform(inventory, context.clock.wallSeconds, context)
    } catch {
      return await OutputStream.fail(error)
    }
  }
}
