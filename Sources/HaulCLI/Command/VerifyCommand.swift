import ArgumentParser
package import HaulCore
import HaulKit

struct VerifyCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Checks existing files.",
    discussion: """
      Examples:
        haul verify big.iso --checksum sha-256=HEX
        haul verify -q big.iso --checksum md5=HEX && echo good
        haul verify -c SHA256SUMS
        haul verify -c SHA256SUMS --ignore-missing
        haul verify -c SHA256SUMS --failed >wrong.txt

      Who made a list is not checked; gpg --verify does it, before 'haul verify -c'.

      Exit status: 0 all files have their digests, 1 a file does not or cannot be read, 2 wrong \
      usage.
      """)

  @Argument(help: ArgumentHelp("The file to check.", valueName: "FILE"), completion: .file())
  var path: String?

  @Option(
    name: .customLong("checksum"),
    help: ArgumentHelp(
      """
      A digest that it must have: sha-256, sha-512, sha-384, sha-1, md5, crc32c or crc64nvme; \
      may be repeated.
      """,
      valueName: "ALG=HEX"))
  var checksums: [String] = []

  @Option(
    name: [.short, .customLong("check"), .customLong("checksum-file")],
    help: ArgumentHelp(
      """
      Check the files that a list of digests names, below this directory, as sha256sum -c does; \
      with FILE only that one. - is standard input.
      """, valueName: "LIST"),
    completion: .file())
  var check: String?

  @Flag(help: "With -c: pass over files that do not exist.")
  var ignoreMissing = false

  @Flag(
    help: "With -c: print only the names of what is wrong, missing or not readable, for a pipe.")
  var failed = false

  @Flag(
    name: .shortAndLong, inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Print only errors.")
  var quiet: Bool?

  /// A digest in the configuration is for another file, and so is what is said of a list.
  func overriddenSettings() -> Set<String>? {
    ["checksum", "checksum-file", "ignore-missing", "failed"]
  }

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    guard path != "", path?.hasBytes("\0") != true else {
      throw UsageError("the file's name is empty or has a NUL")
    }
    if let check { return try listPlan(check, sources) }
    guard !ignoreMissing else { throw UsageError("--ignore-missing is for a list: give -c LIST") }
    guard !failed else { throw UsageError("--failed is for a list: give -c LIST") }
    guard let path else { throw UsageError("give the FILE to check, or a list of digests with -c") }
    guard !checksums.isEmpty else {
      throw UsageError("--checksum is missing: give the file's digest, or a list with -c")
    }
    return VerifyPlan(
      path: path, checksums: try GetPlan.checksums(checksums), quiet: quiet ?? false)
  }
}

extension VerifyCommand {
  /// - Throws: for a list that cannot be read, or has nothing to check.
  private func listPlan(
    _ file: String, _ sources: CommandSources
  ) throws(UsageError) -> VerifyListPlan {
    guard checksums.isEmpty else {
      throw UsageError("-c and --checksum contradict each other: the list has the digests")
    }
    guard !ListServer.has(file) else {
      throw UsageError("-c reads a list of this machine; 'haul get --checksum-file' asks a server")
    }
    let name = file == "-" ? "standard input" : file
    let list = try ChecksumLists.read(file, sources)
    var files = list.files
    if let path {
      let found = list.checksums(ofFileAt: path)
      let digests = found.isEmpty && files.isEmpty ? list.nameless : found
      guard !digests.isEmpty else {
        throw UsageError(
          "\(name) has no digest of \(path); names in it count from the working directory")
      }
      files = [(path, digests)]
    } else if files.isEmpty, let stem = Self.stem(of: file), !list.nameless.isEmpty {
      // NAME.sha256 with a digest alone is about NAME.
      files = [(stem, list.nameless)]
    }
    guard !files.isEmpty else { throw UsageError("\(name): it has no digest of a file") }
    return VerifyListPlan(
      files: files.map { .init(path: $0.name, checksums: $0.checksums) }, list: name,
      notes: ChecksumLists.notes(on: list, named: name, isProtected: true),
      ignoresMissing: ignoreMissing, quiet: quiet ?? false, namesOnly: failed)
  }

  /// What a list is named after; nil for another name.
  private static func stem(of list: String) -> String? {
    for algorithm in ["sha256", "sha512", "sha384", "sha1", "md5"] {
      for end in [".\(algorithm)", ".\(algorithm)sum"] {
        if let stem = list.dropping(byteSuffix: end), !stem.isEmpty { return String(stem) }
      }
    }
    return nil
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
