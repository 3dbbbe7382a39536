import ArgumentParser
import HaulCore

struct SplitCommand: ReadingCommand {
  static let configuration = CommandConfiguration(
    commandName: "split",
    abstract: "Splits lists into shards, one for each task of a job.",
    discussion: """
      DIR gets 0.jsonl, 1.jsonl and so on (.csv, .tsv or .txt, as the lists are). Each file of a \
      host is in as few shards as balance permits, so that a job without a server in its midst is \
      polite: --max-per-host K is shared out among the shards of each host, and 'haul get -i' \
      obeys it.

      With --failed, only what the manifests do not have as complete is split: rows of the lists \
      or, without lists, the addresses of the files that failed.

      Lists may be on servers (https://, s3://), and manifests in stores (s3://), also all below \
      s3://bucket/prefix/. Shards of a list of a server have its rights in list-server.

      Examples:
        haul split list.txt --shards 2 --max-per-host 4 -o shards
        haul split list.txt --failed done.jsonl --shards 1 -o again

      Exit status: 0 the shards are there, or nothing is left to do; 1 an error; 2 wrong usage, or \
      a list that cannot be read.
      """)

  @Argument(
    help: ArgumentHelp("The lists, as 'haul get -i' takes them.", valueName: "FILE"),
    completion: .file())
  var inputs: [String] = []

  @Option(
    help: ArgumentHelp("How many there are.", valueName: "N"),
    transform: { try ArgumentValue.count($0, in: 1...100_000) })
  var shards: Int

  @Option(
    help: ArgumentHelp(
      """
      What is shared out: host = hosts, by the column 'size' if each row has it, else by rows; \
      bytes = rows by that column; lines = rows in turn (default: host).
      """, valueName: "what"),
    completion: .list(ShardPlan.Unit.allCases.map(\.rawValue)), transform: ArgumentValue.choice)
  var by = ShardPlan.Unit.host

  @Option(
    help: ArgumentHelp(
      "Files at once from one host, in all shards together; a host is in at most N shards.",
      valueName: "N"),
    transform: LimitOptions.count)
  var maxPerHost: Int?

  @Option(
    name: [.customShort("o", allowingJoined: true), .long],
    help: ArgumentHelp(
      "The directory of the shards: a new one, an empty one, or one with the same shards.",
      valueName: "DIR"),
    completion: .directory)
  var output: String

  @Option(
    help: ArgumentHelp(
      "A manifest, or a directory of them, also s3://bucket/prefix/; may be repeated.",
      valueName: "FILE"),
    completion: .file())
  var failed: [String] = []

  @OptionGroup var table: TableOptions
  @OptionGroup var server: ServerOptions

  var manifestPlaces: [String] { failed }
  var listPlaces: [String] { inputs }

  func overriddenSettings() -> Set<String>? { overriddenByServer }

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    guard !inputs.isEmpty || !failed.isEmpty else { throw UsageError("give at least one list") }
    guard !output.isEmpty, !output.hasByte(0) else {
      throw UsageError("the name of a file is empty or has a NUL")
    }
    if let reading = try ReadingPlan(self, sources) { return reading }
    let inputs = inputs.flatMap { sources.below[$0] ?? [$0] }
    let format = try table.format(of: inputs)
    guard format != .list || by != .bytes else {
      throw UsageError("--by bytes needs a column 'size': a list of lines has none")
    }
    return SplitPlan(
      inputs: inputs.map { SplitPlan.Input($0, sources) }, format: format, columns: table.columns,
      count: shards, unit: by,
      maximumPerHost: maxPerHost, directory: output,
      manifests: try ManifestCommand.files(failed, sources).map { ManifestPlace($0, sources) })
  }
}

/// What `haul split` does.
package struct SplitPlan: CommandPlan {
  /// A list: its path or address, and what a server has sent.
  struct Input: Sendable {
    let place: String
    let text: ListText?

    init(_ place: String, _ sources: CommandSources) {
      (self.place, text) = (place, sources.fetched[place])
    }
  }

  var inputs: [Input]
  package var format: InputTable.Format
  package var columns: [InputTable.Meaning: String]
  package var count: Int
  package var unit: ShardPlan.Unit
  package var maximumPerHost: Int?
  package var directory: String
  var manifests: [ManifestPlace]

  package func run(in context: ProcessContext) async -> ExitStatus {
    do {
      var rows = ShardRows(self)
      for note in try rows.read() { await OutputStream.warn(note) }
      guard !rows.isEmpty else {
        await OutputStream.warn("all files are complete; no shard was written")
        return .completed
      }
      try ShardWriter(self, rows).run()
      return .completed
    } catch {
      return await OutputStream.fail(error)
    }
  }
}
