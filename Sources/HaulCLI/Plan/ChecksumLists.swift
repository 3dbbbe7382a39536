import HaulCore

/// The digests that lists have of the files of a command: those that `--checksum-file` names, or
/// what `--checksum-from` has found.
struct ChecksumLists: Sendable {
  /// A list that a server has sent.
  struct Fetched: Sendable {
    let list: ChecksumList
    /// Whether TLS protected it.
    let isProtected: Bool
  }

  private let lists: [(name: String, list: ChecksumList)]
  private let neighbours: NeighbourChecksums?
  private let ignoresMissing: Bool
  /// Whether a digest without a name can be meant.
  private let isForOneFile: Bool
  /// The file that `-o` names.
  private let output: String?
  /// For the user, before the start.
  let notes: [String]

  /// - Throws: for a list that cannot be read, or has no digest.
  init(_ command: GetCommand, _ sources: CommandSources) throws(UsageError) {
    let content = command.content
    var (lists, notes) = ([(name: String, list: ChecksumList)](), [String]())
    for file in content.checksumFiles {
      let name = ListServer.path(of: file)
      let fetched = sources.checksumLists[file]
      let list: ChecksumList
      if let fetched { list = fetched.list } else { list = try Self.read(file, sources) }
      guard !list.entries.isEmpty else { throw UsageError("\(name): it has no digest of a file") }
      lists.append((name, list))
      notes += Self.notes(on: list, named: name, isProtected: fetched?.isProtected ?? true)
    }
    (self.lists, neighbours) = (lists, sources.neighbours)
    ignoresMissing = content.ignoreMissing ?? false
    isForOneFile = command.urls.count == 1 && content.inputFiles.isEmpty
    output = command.destination.output?.lastPathName
    self.notes = notes + (neighbours?.notes ?? [])
    guard !ignoresMissing || !lists.isEmpty else {
      throw UsageError("--ignore-missing is for --checksum-file")
    }
  }

  /// A list of this machine.
  static func read(_ file: String, _ sources: CommandSources) throws(UsageError) -> ChecksumList {
    let text = try sources.text(of: file, for: .checksums, named: "the list \(file)")
    return ChecksumList(Array(text.utf8))
  }

  /// What the digests of a list do not show.
  static func notes(on list: ChecksumList, named name: String, isProtected: Bool) -> [String] {
    var notes: [String] = []
    if !isProtected {
      notes.append(
        "\(name) came without TLS: its digests show damage, but do not prove whose file it is")
    }
    let algorithms = Set(list.entries.map(\.checksum.algorithm))
    if !algorithms.contains(where: \.isTrusted) {
      let names = algorithms.map(\.rawValue).sorted().joined(separator: " and ")
      notes.append(
        "\(name) has only \(names): it shows damage, but another file can be made to match")
    }
    if list.unreadLines > 0 {
      notes.append("\(name): \(Units.count(list.unreadLines)) lines of it are not understood")
    }
    return notes
  }

  /// The digests that the file of an item must have.
  /// - Parameter given: those of the command line.
  func checksums(
    of item: GetItem, and given: [Checksum]
  ) throws(UsageError) -> [Checksum] {
    var checksums = given
    if let found = neighbours?.checksums[item.url] { try add(found, to: &checksums, item) }
    for (name, list) in lists {
      let found = try listed(item, list, name)
      guard !found.isEmpty || ignoresMissing else {
        throw UsageError(
          "\(item.url.redacted): \(name) has no digest of it; --ignore-missing downloads it "
            + "unchecked")
      }
      try add(found, to: &checksums, item)
    }
    return checksums
  }

  /// What a list says of an item: by the path of its address, else by the name that it gets here.
  private func listed(
    _ item: GetItem, _ list: ChecksumList, _ name: String
  ) throws(UsageError) -> [Checksum] {
    for path in [item.decodedPath, FileName(item.url).text, item.out ?? output] {
      let found = path.map(list.checksums(ofFileAt:)) ?? []
      if !found.isEmpty { return found }
    }
    // A digest alone, as in NAME.sha256, is that of the only file.
    return isForOneFile && list.files.isEmpty ? list.nameless : []
  }

  private func add(
    _ found: [Checksum], to checksums: inout [Checksum], _ item: GetItem
  ) throws(UsageError) {
    for checksum in found where !checksums.contains(checksum) {
      guard !checksums.contains(where: { $0.algorithm == checksum.algorithm }) else {
        throw UsageError(
          "\(item.url.redacted): it has two different digests of \(checksum.algorithm.rawValue)")
      }
      checksums.append(checksum)
    }
  }
}

extension GetItem {
  /// The path of its address, as a list has it.
  var decodedPath: String { PercentCoding.text(url.path) }
}
