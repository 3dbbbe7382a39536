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
  /// The path of the manifest; nil without one.
  package var manifest: String?
  /// For each request, the number of its address in the arguments, from 1.
  package var indices: [Int] = []
  /// Notes for the user before the start: lines for standard error.
  package var notes: [String] = []
}

extension GetPlan {
  /// - Throws: when options contradict each other or a value is wrong; nothing was started.
  init(
    _ command: GetCommand, _ items: [GetItem], _ sources: CommandSources
  ) throws(UsageError) {
    try Self.checkUse(of: command, count: items.count)
    guard command.s3.isEmpty || items.contains(where: { $0.object != nil }) else {
      throw S3Options.misused
    }
    try Self.checkLocalUse(of: command, count: items.count)
    var downloads = try ItemRequests(command, sources, from: items[0].url)
    var targets = TargetSet()
    requests = []
    notes = downloads.notes
    manifest = try command.manifestPath()
    usesCache = command.cache ?? false
    let destination = command.destination
    // That of most lines of a long list.
    var common: (DownloadRequest.Destination, createsDirectories: Bool)?
    for (number, item) in items.enumerated() {
      if common == nil, !item.hasOwnDestination { common = try item.destination(destination) }
      var request = try downloads.request(for: item)
      if item.hasOwnDestination {
        (request.destination, request.createsDirectories) = try item.destination(destination)
      } else if let common {
        (request.destination, request.createsDirectories) = common
      }
      // What the cache keeps must come over one connection.
      if usesCache { request.minimumSplit = UserCache.configuration.maximumSize }
      if let warning = try targets.insert(request, of: item) {
        notes.append(warning)
        continue
      }
      requests.append(request)
      indices.append(number + 1)
    }
    managerOptions = try ManagerOptions(
      command.limits, connections: command.ranges.connections,
      command.connections)
    managerOptions.limitHosts(by: items, command.limits)
    // A later run without these options would get the same file from the cache.
    if !usesCache { downloads.addCredentials(to: &managerOptions) }
    if let hint = Self.hint(onHostsOf: requests, command.limits, managerOptions) {
      notes.append(hint)
    }
    output = command.output.values
    output.discards = command.destination.output == Self.nowhere
    output.streams = try Self.streams(requests, output)
    guard manifest == nil || !output.streams else {
      throw UsageError("-o - and --manifest contradict each other: a later run has no such file")
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
    guard requests.count == 1 else {
      throw UsageError("standard output (-) takes one file, but there are several URLs")
    }
    guard !output.json || output.discards else {
      throw UsageError("-o - and --json both use standard output")
    }
    return true
  }

  /// What holds wherever the bytes go.
  static func checkUse(of command: GetCommand, count: Int) throws(UsageError) {
    guard count > 0 else { throw UsageError("give at least one URL, or a file of them with -i") }
    if count > 1, !command.content.checksums.isEmpty {
      throw UsageError("--checksum is the digest of one file, but there are several URLs")
    }
    let output = command.output.values
    if output.quiet, output.verbose { throw UsageError("-q and -v contradict each other") }
    if output.quiet, output.progress == .bar || output.progress == .plain {
      throw UsageError("-q and --progress \(output.progress.rawValue) contradict each other")
    }
  }

  private static func checkLocalUse(of command: GetCommand, count: Int) throws(UsageError) {
    if let directory = command.destination.directory, PutPlan.isRemote(directory) {
      throw UsageError("-d names a directory of this machine; -o s3://bucket/ names another place")
    }
    if count > 1, command.destination.output != nil {
      throw UsageError("-o names one file, but there are several URLs; use -d")
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
    do throws(TransferError) {
      try DownloadRequest.Destination.file(output).checkName()
    } catch {
      throw UsageError("-o \(output): \(error.message)")
    }
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
        $0.byteCount * 2 == digest.count && $0 != .crc32c
      }
      let hint = meant.map { "; did you mean \($0.rawValue)=\(digest) ?" } ?? ""
      throw UsageError("\(option) is written ALG=HEX, where ALG is one of \(names)\(hint)")
    }
    throw UsageError(
      "\(option): \(algorithm.rawValue) needs \(algorithm.byteCount * 2) hexadecimal digits, not "
        + "\(text.count - name.count - 1)")
  }
}
