import ArgumentParser
import HaulCore

struct ManifestCommand: ReadingCommand {
  static let configuration = CommandConfiguration(
    commandName: "manifest",
    abstract: "Sums up what 'get --manifest' has written.",
    discussion: """
      Of several lines for one file the last counts, but a failure after a complete line only if \
      its run began later.

      With -i, what counts as missing is compared with the lists: a task that never began has no \
      manifest.

      Examples:
        haul manifest done.jsonl
        haul manifest done.jsonl -i list.txt
        haul manifest --failed done.jsonl

      Exit status: 0 all files are complete, 1 some failed or are missing, 2 wrong usage.
      """)

  @Argument(
    help: ArgumentHelp(
      "The manifests, or directories of them; also s3://bucket/key and s3://bucket/prefix/.",
      valueName: "FILE"),
    completion: .file())
  var paths: [String]

  @Option(
    name: [.customShort("i", allowingJoined: true), .customLong("input-file")],
    help: ArgumentHelp(
      """
      A list of the job, also on a server (https://, s3://), or a directory or prefix of its \
      shards; may be repeated.
      """, valueName: "FILE"),
    completion: .file())
  var inputFiles: [String] = []

  @OptionGroup var table: TableOptions

  @Flag(help: "Print the lines of the files that failed.")
  var failed = false

  @Flag(help: "Print one JSON object.")
  var json = false

  @OptionGroup var server: ServerOptions

  var manifestPlaces: [String] { paths }
  var listPlaces: [String] { inputFiles }

  func overriddenSettings() -> Set<String>? { overriddenByServer }

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    guard !failed || !json else { throw UsageError("--failed and --json contradict each other") }
    if let reading = try ReadingPlan(self, sources) { return reading }
    let manifests = try Self.files(paths, sources).map { ManifestPlace($0, sources) }
    return ManifestPlan(
      manifests: manifests, lists: try lists(manifests, sources), failed: failed, json: json)
  }

  private func lists(
    _ manifests: [ManifestPlace], _ sources: CommandSources
  ) throws(UsageError) -> SplitPlan? {
    guard !inputFiles.isEmpty || !table.columns.isEmpty || table.inputFormat != nil else {
      return nil
    }
    guard !inputFiles.isEmpty else {
      throw UsageError("--columns and --input-format are for a list: give it with -i")
    }
    let lists = try Self.files(inputFiles, sources, "list", ends: Self.listEnds)
    return SplitPlan(
      inputs: lists.map { SplitPlan.Input($0, sources) }, format: try table.format(of: lists),
      columns: table.columns, count: 1,
      unit: .lines, directory: "", manifests: manifests)
  }

  /// The ends of the names of manifests and of lists.
  static let manifestEnds = [".jsonl"]
  static let listEnds = [".jsonl", ".ndjson", ".csv", ".tsv", ".txt"]

  /// The manifests, and those in directories and below prefixes of them.
  /// - Parameter ends: of their names in a directory.
  static func files(
    _ paths: [String], _ sources: CommandSources, _ what: String = "manifest",
    ends: [String] = manifestEnds
  ) throws(UsageError) -> [String] {
    var files: [String] = []
    for path in paths {
      guard !path.isEmpty, !path.hasByte(0) else {
        throw UsageError("the name of a file is empty or has a NUL")
      }
      guard !ListServer.has(path), let tree = try sources.tree(path, .follow) else {
        files += sources.below[path] ?? [path]
        continue
      }
      for other in [tree.leftOut.lost, tree.leftOut.special] where other.count > 0 {
        throw UsageError("\(other.first): that is no file")
      }
      files += tree.filter { entry in
        ends.contains { entry.names.last?.hasByteSuffix($0) == true }
      }.map { path.appendingPath($0.names.joined(separator: "/")) }
    }
    if files.isEmpty, let path = paths.first {
      throw UsageError("\(path): there is no \(what) in it")
    }
    return files
  }
}

/// What `haul manifest` prints.
package struct ManifestPlan: CommandPlan {
  var manifests: [ManifestPlace]
  /// With which it is compared; nil for none.
  var lists: SplitPlan?
  package var failed: Bool
  package var json: Bool

  package func run(in context: ProcessContext) async -> ExitStatus {
    do {
      var sum = try ManifestSum(of: manifests, countingAddresses: lists != nil)
      if let lists { try sum.compare(with: lists) }
      var text = ""
      if failed {
        try sum.forEachFailure { failure, _ in text += try failure.text() }
      } else {
        text = json ? try JSONLines.line(of: sum) : try sum.text()
      }
      return await OutputStream.show(text, then: sum.isWhole ? .completed : .failed)
    } catch {
      return await OutputStream.fail(error)
    }
  }
}
