import ArgumentParser
import HaulCore

struct ManifestCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "manifest",
    abstract: "Sums up what 'get --manifest' has written.",
    discussion: """
      Of several lines for one file the last counts, but a failure after a complete line only if \
      its run began later.

      Examples:
        haul manifest done.jsonl
        haul manifest --failed done.jsonl

      Exit status: 0 all files are complete, 1 some failed or are missing, 2 wrong usage.
      """)

  @Argument(
    help: ArgumentHelp("The manifests, or directories of them.", valueName: "FILE"),
    completion: .file())
  var paths: [String]

  @Flag(help: "Print the lines of the files that failed.")
  var failed = false

  @Flag(help: "Print one JSON object.")
  var json = false

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    guard !failed || !json else { throw UsageError("--failed and --json contradict each other") }
    return ManifestPlan(paths: try Self.files(paths, sources), failed: failed, json: json)
  }

  /// The manifests, and those in directories of them.
  static func files(
    _ paths: [String], _ sources: CommandSources
  ) throws(UsageError) -> [String] {
    var files: [String] = []
    for path in paths {
      guard !path.isEmpty, !path.hasByte(0) else {
        throw UsageError("the name of a file is empty or has a NUL")
      }
      guard let tree = try sources.tree(path) else {
        files.append(path)
        continue
      }
      files += tree.entries.filter { $0.names.last?.hasByteSuffix(".jsonl") == true }
        .map { path.appendingPath($0.names.joined(separator: "/")) }
    }
    if files.isEmpty, let path = paths.first {
      throw UsageError("\(path): there is no manifest in it")
    }
    return files
  }
}

/// What `haul manifest` prints.
package struct ManifestPlan: CommandPlan, Hashable {
  package var paths: [String]
  package var failed: Bool
  package var json: Bool

  package func run(in context: ProcessContext) async -> ExitStatus {
    do {
      var sum = ManifestSum()
      for path in paths { try sum.add(path) }
      let text =
        if failed {
          try sum.failures.map { try $0.text() }.joined()
        } else {
          json ? try JSONLines.line(of: sum) : sum.text
        }
      return await OutputStream.show(text, then: sum.isWhole ? .completed : .failed)
    } catch {
      return await OutputStream.fail(error)
    }
  }
}
