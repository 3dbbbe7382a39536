import FoundationEssentials
import HaulCache
package import HaulCore

/// Everything that `haul get` will do, made from the options without side effects.
package struct GetPlan: Hashable, Sendable {
  package var requests: [DownloadRequest]
  package var managerOptions: ManagerOptions
  package var output: OutputOptions
  /// Whether the files come through the cache.
  package var usesCache = false
  /// Nil without one.
  package var manifest: RunManifest?
  /// For each request, the number of its address in the arguments, from 1.
  package var indices: [Int] = []
  /// What follows the requests; nil if they are all.
  package var rest: InputRest?
  /// Notes for the user before the start: lines for standard error.
  package var notes: [String] = []
}

extension GetPlan {
  /// - Parameters:
  ///   - items: the first ones.
  ///   - reader: what follows them. It is checked here, and not kept.
  /// - Throws: when options contradict each other or a value is wrong; nothing was started.
  init(
    _ command: GetCommand, _ items: [GetItem], _ reader: ItemReader, _ sources: CommandSources
  ) throws(UsageError) {
    // One more shows that there are several.
    let count = items.count + (reader.isAtEnd ? 0 : 1)
    try Self.checkUse(of: command, count: count)
    var hasObject = command.s3.isEmpty || items.contains { $0.object != nil }
    guard hasObject || !reader.isAtEnd else { throw S3Options.misused }
    let areNamed = reader.isAtEnd && items.allSatisfy { $0.out != nil }
    try Self.checkLocalUse(of: command, count: count, areNamed: areNamed)
    var downloads = try ItemDownloads(command, sources, from: items[0].url)
    var (targets, all) = (TargetSet(), reader)
    var survey = try ItemSurvey(downloads.requests.notes, command.completeFiles(sources))
    requests = []
    usesCache = command.cache ?? false
    /// Nil for an item that is left out.
    func check(_ item: GetItem, _ number: Int) throws(UsageError) -> DownloadRequest? {
      let request = try downloads.download(for: item)
      downloads.placement.note(item)
      let warning = try targets.insert(request, of: item, number: number) {
        (number) throws(UsageError) in
        let item = try all.item(number)
        return (item, try downloads.download(for: item))
      }
      let isLeftOut = survey.leavesOut(number, warning, TransferRequest(.download(request)))
      return isLeftOut ? nil : request
    }
    for (index, item) in items.enumerated() {
      guard let request = try check(item, index + 1) else { continue }
      requests.append(request)
      indices.append(index + 1)
    }
    managerOptions = try ManagerOptions(
      command.limits, connections: command.ranges.connections,
      command.connections)
    managerOptions.limitHosts(by: items, command.limits)
    var (number, further) = (items.count, 0)
    while !all.isAtEnd {
      let some = try all.next(atMost: Self.checkedAtOnce)
      for item in some {
        number += 1
        // The other ones have no place on another server: refused there.
        if PutPlan.isRemote(item.out) {
          _ = try PutPlan(command, items + [item], all.ended, sources)
        }
        guard let request = try check(item, number) else { continue }
        guard request.destination != .stream else { throw Self.severalStreams }
        further += 1
      }
      hasObject = hasObject || some.contains { $0.object != nil }
      managerOptions.limitHosts(by: some, command.limits)
    }
    guard hasObject else { throw S3Options.misused }
    notes = survey.allNotes + downloads.placement.notes + downloads.requests.serverNotes
    notes += all.columnNotes()
    manifest = survey.manifest
    output = command.output.values
    output.allowsUnverified = command.content.allowUnverified ?? false
    output.discards = command.destination.output == Self.nowhere
    if further > 0 {
      let rest = ItemTransferReader(
        reader, downloads, after: items.count, leavingOut: survey.leftOut)
      try take(
        InputRest(count: further, window: sources.window, rest),
        isWhole: usesCache || targets.hasNumbered)
    }
    // A later run without these options would get the same file from the cache.
    if !usesCache { downloads.requests.addCredentials(to: &managerOptions) }
    if let hint = Self.hint(onHostsOf: requests, command.limits, managerOptions) {
      notes.append(hint)
    }
    output.streams = try Self.streams(requests, output)
    guard manifest == nil || !output.streams else {
      throw UsageError("-o - and --manifest contradict each other: a later run has no such file")
    }
  }

  /// How many items of a long input are checked before the next ones are read.
  static let checkedAtOnce = 1024

  /// Takes what follows the first transfers.
  /// - Parameter isWhole: whether all of it is added at once: the cache must know which addresses
  ///   use it, and names get their numbers in the order of the list.
  private mutating func take(_ rest: InputRest, isWhole: Bool) throws(UsageError) {
    guard isWhole else {
      self.rest = rest
      return
    }
    for (request, index) in try rest.all() {
      guard let download = request.download else { continue }
      requests.append(download)
      indices.append(index)
    }
  }

  /// Explains that fewer files run at once than requested, because of the limit of one host.
  private static func hint(
    onHostsOf requests: [DownloadRequest], _ limits: LimitOptions, _ managerOptions: ManagerOptions
  ) -> String? {
    let most = managerOptions.maximumActivePerHost
    guard let wanted = limits.maximumActive, wanted > most,
      limits.maximumPerHost == nil, managerOptions.maximumActiveOfHosts.isEmpty
    else {
      return nil
    }
    let hosts = Dictionary(grouping: requests) { $0.url.origin.authority }
    guard hosts.contains(where: { $0.value.count > most }) else { return nil }
    return "at most \(most) files of one host run at once; --max-per-host \(wanted) allows more"
  }

  /// Whether the only file goes to standard output.
  private static func streams(
    _ requests: [DownloadRequest], _ output: OutputOptions
  ) throws(UsageError) -> Bool {
    guard requests.contains(where: { $0.destination == .stream }) else { return false }
    guard requests.count == 1 else { throw severalStreams }
    guard !output.json || output.discards else {
      throw UsageError("-o - and --json both use standard output")
    }
    return true
  }

  private static let severalStreams = UsageError(
    "standard output (-) takes one file, but there are several URLs")

  /// What holds wherever the bytes go.
  static func checkUse(of command: GetCommand, count: Int) throws(UsageError) {
    guard count > 0 else { throw UsageError("give at least one URL, or a file of them with -i") }
    if count > 1, !command.content.checksums.isEmpty {
      throw UsageError("--checksum is the digest of one file, but there are several URLs")
    }
    try command.output.check()
  }

  /// - Parameter areNamed: whether each item has a name of its own.
  private static func checkLocalUse(
    of command: GetCommand, count: Int, areNamed: Bool
  ) throws(UsageError) {
    if let directory = command.destination.directory, PutPlan.isRemote(directory) {
      throw UsageError("-d names a directory of this machine; -o s3://bucket/ names another place")
    }
    if count > 1, command.destination.output != nil, !areNamed {
      throw UsageError("-o names one file, but there are several URLs; use -d")
    }
    if command.destination.keepPaths == true, command.destination.output != nil {
      throw UsageError("--keep-paths and -o contradict each other: -o names the file")
    }
    if command.cache == true, let (option, reason) = cacheConflict(command) {
      throw UsageError("--cache and \(option) contradict each other: \(reason)")
    }
  }

  /// An option that the cache cannot obey, or whose files it could not tell from others later.
  static func cacheConflict(_ command: GetCommand) -> (option: String, reason: String)? {
    if command.content.decode == true {
      return ("--decode", "the cache keeps files as the server sends them")
    }
    if command.ranges.minimumSplit != nil {
      return ("--min-split", "a file that the cache keeps comes over one connection")
    }
    let options = [
      ("--insecure", command.requests.insecure == true),
      ("--resolve", !command.connections.resolve.isEmpty),
      ("--cert", command.connections.certificate != nil),
    ]
    return options.first { $0.1 }
      .map { ($0.0, "a later run without \($0.0) would get the same file") }
  }

  private static let nowhere = "/dev/null"
  /// Paths that are not files; the bytes are written to them in order.
  private static let streams: Set = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", nowhere]

  static func destination(
    _ options: DestinationOptions
  ) throws(UsageError) -> DownloadRequest.Destination {
    if let directory = options.directory, directory.isEmpty || directory.utf8.contains(0) {
      throw UsageError("-d: the name of the directory is empty or has a NUL")
    }
    guard let output = options.output else { return .directory(options.directory ?? ".") }
    if streams.contains(output) {
      guard options.directory == nil else {
        throw UsageError("-o \(output) and -d contradict each other")
      }
      return .stream
    }
    guard !output.isEmpty, !output.utf8.contains(0) else {
      throw UsageError("-o: the file's name is empty or has a NUL")
    }
    let name = output.lastPathName
    guard !output.endsWithSlash, let name, name != ".", name != ".." else {
      throw UsageError("-o \(output): that is a directory; use -d")
    }
    try UsageError.checked(
      DownloadRequest.Destination.file(output).checkName(), at: "-o \(output)")
    guard let directory = options.directory else { return .file(output) }
    guard !output.isAbsolutePath else {
      throw UsageError("-o with an absolute path and -d contradict each other")
    }
    return .file(directory.appendingPath(output))
  }

  /// The checksums; each algorithm may be given once.
  static func checksums(_ texts: [String]) throws(UsageError) -> [Checksum] {
    var checksums: [Checksum] = []
    for text in texts { try add(text, to: &checksums, from: "--checksum") }
    return checksums
  }

  /// - Parameter option: the source to name in an error.
  static func add(
    _ text: String, to checksums: inout [Checksum], from option: String
  ) throws(UsageError) {
    let checksum = try checksum(text, option)
    guard !checksums.contains(where: { $0.algorithm == checksum.algorithm }) else {
      throw UsageError("\(option): \(checksum.algorithm.rawValue) is given twice")
    }
    checksums.append(checksum)
  }

  private static func checksum(_ text: String, _ option: String) throws(UsageError) -> Checksum {
    if let checksum = Checksum(text) { return checksum }
    let names = Checksum.Algorithm.allCases.map(\.rawValue).joined(separator: ", ")
    let name = text.prefix(beforeAnyOf: "=")
    let colon = text.prefix(beforeAnyOf: ":")
    if let meant = Checksum("\(colon)=\(text.dropFirst(colon.count + 1))") {
      throw UsageError("\(option) is written ALG=HEX; did you mean \(meant) ?")
    }
    guard text.hasBytes("="), let algorithm = Checksum.Algorithm(name: name) else {
      // The output of a program like sha256sum: the digest, and the name of the file.
      let digest = text.prefix { $0.isHexDigit }
      let meant = Checksum.Algorithm.allCases.reversed().first {
        $0.byteCount * 2 == digest.count && !$0.isCRC
      }
      let hint = meant.map { "; did you mean \($0.rawValue)=\(digest) ?" } ?? ""
      throw UsageError("\(option) is written ALG=HEX, where ALG is one of \(names)\(hint)")
    }
    throw UsageError(
      "\(option): \(algorithm.rawValue) needs \(algorithm.byteCount * 2) hexadecimal digits, not "
        + "\(text.count - name.count - 1)")
  }
}
