import ArgumentParser
import HaulCore

/// `haul get`; `GetPlan` interprets its options.
struct GetCommand: FetchingCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Downloads now, in the foreground.",
    discussion: """
      After an interruption or a crash, the same command resumes. When the file is complete, the \
      same command brings it up to date.

      With -o s3://bucket/key (also https://, dav+https:// or tus+https://), the file goes from \
      server to server, not to this machine. To an S3 store it resumes if the source has ranges, a \
      length and a strong validator.

      Examples:
        haul get https://example.org/big.iso
        haul get -o disk.iso --checksum sha-256=HEX https://example.org/big.iso
        haul get -d Music --limit-rate 2M https://example.org/a https://example.org/b
        haul get -o - https://example.org/x.tar.gz | tar xz
        haul get --bearer-file token.txt https://example.org/x.bin
        haul get -i list.txt -d Downloads --manifest done.jsonl
        haul get --worker -i list.txt -d Downloads --manifest done.jsonl
        haul get -o s3://bucket/big.iso https://example.org/big.iso
        haul get -i list.txt -o 's3://bucket/{index}-{name}'
        haul get --cache -o copy.bin https://example.org/x.bin
        haul get --json --progress none https://example.org/x.bin > events.ndjson

      SIZE and RATE are bytes, with K, M or G for powers of 1024. DURATION is a number \
      of seconds, or has a unit: 90s, 5m, 1h. --no-NAME switches off, for one run, a flag that \
      ~/.config/haul/haul.conf switches on.

      Exit status: 0 all completed; 1 at least one failed; 2 wrong usage, nothing was \
      started; 75 with --worker, another run may help; 129, 130, 131 and 143 ended by a signal, \
      the bytes are kept; 141 the reader of \
      standard output closed it.
      """,
    helpNames: .long)

  /// The letters of its options.
  static let letters = Set<Character>("odixjHqvh46")

  @Argument(help: ArgumentHelp("What to download.", valueName: "URL"))
  var urls: [String] = []

  @OptionGroup(title: "Destination") var destination: DestinationOptions
  @OptionGroup(title: "Content") var content: ContentOptions
  @OptionGroup(title: "S3") var s3: S3Options
  @OptionGroup(title: "Speed") var limits: LimitOptions
  @OptionGroup(title: "Speed") var ranges: RangeOptions
  @OptionGroup(title: "Credentials") var credentials: CredentialOptions
  @OptionGroup(title: "Network") var requests: RequestOptions
  @OptionGroup(title: "Network") var connections: ConnectionOptions
  @OptionGroup(title: "Output") var output: OutputArguments
  @OptionGroup(title: "Worker") var worker: WorkerOptions

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: """
      Use the cache ('haul cache'): no request for a file that it has and that is fresh, unless \
      it would replace another version; a stale one is fetched only if the server has another \
      version. Files of at most 32 MiB are kept.
      """)
  var cache: Bool?

  @Option(
    help: ArgumentHelp(
      """
      Append a line of JSON to this file, or to s3://bucket/key at the end, for each file that \
      ends, and leave out those that it has as complete. DIR/ keeps one for each list, with its \
      name.
      """, valueName: "FILE"),
    completion: .file())
  var manifest: String?

  @Flag(name: .customShort("h"), help: "Show the most common options.")
  var shortHelp = false

  func overriddenSettings() -> Set<String>? {
    if shortHelp { return nil }
    var keys = Settings.overridden(by: credentials, requests, connections)
    if GetPlan.cacheConflict(self) != nil { keys.insert("cache") }
    if cache == true { keys.formUnion(["decode", "min-split"]) }
    keys.formUnion(Settings.overridden(by: destination))
    keys.formUnion(Settings.overridden(by: content))
    if destination.output == "-" { keys.formUnion(["directory", "json"]) }
    if destination.output?.isAbsolutePath == true { keys.insert("directory") }
    return keys.union(Settings.overridden(by: output))
  }

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    if shortHelp { return PrintedText(text: ShortHelp.get) }
    if let (command, sources) = try expanded(sources) { return try command.plan(sources) }
    if let fetching = try FetchingPlan(self, sources) { return fetching }
    if let search = try ChecksumSearch(self, sources) { return search }
    var reader = try ItemReader(self, sources)
    reader.isForQueue = false
    let items = try reader.next(atMost: sources.window)
    if items.isEmpty, !content.inputFiles.isEmpty { return PrintedText(text: "") }
    if areRemote(items) {
      var plan = try PutPlan(self, items, reader, sources)
      try worker.apply(to: &plan.output, plan.manifest?.path, content.inputFiles)
      plan.managerOptions.recordPlace = try worker.recordPlace(s3, sources)
      plan.managerOptions.requiresConditions = worker.workersMayOverlap
      guard
        plan.managerOptions.recordPlace == nil && !worker.workersMayOverlap
          || plan.goesToStores
      else {
        throw UsageError(
          "--records s3://… and --workers-may-overlap are for files that go to an S3 store")
      }
      return plan
    }
    guard worker.records == nil, !worker.workersMayOverlap else {
      throw UsageError(
        "--records and --workers-may-overlap are for an S3 store; a download's bytes are beside "
          + "its file, which is locked")
    }
    var plan = try GetPlan(self, items, reader, sources)
    try worker.apply(to: &plan.output, plan.manifest?.path, content.inputFiles)
    return plan
  }

  var asGet: GetCommand { self }

  /// What its manifest has; nil without one.
  func completeFiles(_ sources: CommandSources) throws(UsageError) -> CompleteFiles? {
    guard let place = try manifestPlace() else { return nil }
    return CompleteFiles(by: sources.manifests[place] ?? place, named: place)
  }

  /// Its manifest in a store; nil without one.
  func storedManifest(
    _ sources: CommandSources
  ) throws(UsageError) -> (address: String, object: CommandStore.Object)? {
    guard let place = try manifestPlace(), PutPlan.isS3(place) else { return nil }
    var store = CommandStore(s3, sources)
    return (place, try store.object(place))
  }

  /// The path of its manifest, or the address in a store; nil without one.
  func manifestPlace() throws(UsageError) -> String? {
    guard let manifest else { return nil }
    guard !manifest.isEmpty, !manifest.hasByte(0) else {
      throw UsageError("--manifest: the file's name is empty or has a NUL")
    }
    guard PutPlan.isS3(manifest) || !ListServer.has(manifest) else {
      throw UsageError(
        "--manifest \(ListServer.path(of: manifest)): name a file of this machine, or an object of "
          + "a store")
    }
    guard manifest.endsWithSlash else { return manifest }
    guard content.inputFiles.count == 1,
      let list = ListServer.path(of: content.inputFiles[0]).lastPathName, list != "-"
    else { throw UsageError("--manifest \(manifest): name the file; DIR/ is for one list with -i") }
    let parts = list.byteSplit(separator: ".", omittingEmptySubsequences: false)
    let stem = parts.count > 1 ? parts.dropLast().joined(separator: ".") : list
    return "\(manifest)\(stem).jsonl"
  }

  /// Whether the files go to another server.
  func areRemote(_ items: [GetItem]) -> Bool {
    PutPlan.isRemote(destination.output) || items.contains { PutPlan.isRemote($0.out) }
  }
}

extension GetPlan: CommandPlan {
  package func run(in context: ProcessContext) async -> ExitStatus {
    await ForegroundSession(
      requests: requests.map { TransferRequest(.download($0)) }, managerOptions: managerOptions,
      output: output, indices: indices, rest: rest, notes: notes, usesCache: usesCache,
      manifest: manifest, context: context
    ).run()
  }
}
