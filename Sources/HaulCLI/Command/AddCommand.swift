import ArgumentParser
import HaulControl
package import HaulCore

struct AddCommand: FetchingCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Adds downloads, uploads or a program to the background queue.",
    discussion: """
      Prints the id of each. The daemon is started if it is not running; 'haul list' shows the \
      queue. Options for all transfers together (-j, --proxy, ...) belong to 'haul serve'.

      Examples:
        haul add https://example.org/big.iso
        haul add -d Music --group album --priority background https://example.org/a
        haul add --put report.pdf https://example.org/files/
        haul add --put movie.mkv s3://bucket/movies/
        haul add --field album=sea --form photo=@a.jpg https://example.org/photo-form
        haul add --after 4FZ0 --run -- tar xf big.tar

      Exit status: 0 all were added; 1 an error; 2 wrong usage, nothing was added.
      """)

  /// The letters of its options.
  static let letters = Set<Character>("odixHqh")

  @Argument(
    help: ArgumentHelp(
      "What to download; with --put, the files, then the address; with --run, the program.",
      valueName: "URL"))
  var arguments: [String] = []

  @OptionGroup(title: "Destination") var destination: DestinationOptions
  @OptionGroup(title: "Content") var content: ContentOptions
  @OptionGroup(title: "Speed") var ranges: RangeOptions
  @OptionGroup(title: "Credentials") var credentials: CredentialOptions
  @OptionGroup(title: "Network") var requests: RequestOptions
  @OptionGroup(title: "Queue") var queue: QueueOptions

  @Flag(help: "Upload files, as 'haul put' does, in place of a download.")
  var put = false

  @Option(
    help: ArgumentHelp("With --put: put or post (default: put).", valueName: "how"),
    completion: .list(["put", "post"]), transform: PutPlan.method)
  var method: UploadRequest.Method?

  @Option(
    help: ArgumentHelp(
      "With --put: replace only the version with this entity tag.", valueName: "TAG"))
  var ifMatch: String?

  @OptionGroup var tree: TreeOptions
  @OptionGroup var form: FormOptions
  @OptionGroup(title: "S3") var s3: S3Options

  @Flag(help: "Run a program, given after --, in place of a download.")
  var run = false

  @Flag(
    help: "Add a download although the list has the same one, which has not ended.")
  var again = false

  @Flag(help: "Print the daemon's response as JSON.")
  var json = false

  @Flag(name: .shortAndLong, help: "Print only ids and errors.")
  var quiet = false

  /// What it downloads.
  var urls: [String] {
    get { isUpload || run ? [] : arguments }
    set { arguments = newValue }
  }

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    if let (command, sources) = try expanded(sources) { return try command.plan(sources) }
    if !isUpload, !run {
      if let fetching = try FetchingPlan(self, sources) { return fetching }
      if let search = try ChecksumSearch(self, sources) { return search }
    }
    return try AddPlan(self, sources)
  }
}

/// Everything that `haul add` adds, made from the options without side effects.
package struct AddPlan: CommandPlan, Hashable {
  package var requests: [TransferRequest]
  /// The ids, beginnings of ids or names of the transfers that must complete first.
  package var after: [String]
  package var json: Bool
  package var quiet: Bool
  package var isPaused = false
  /// Whether a download that the list has is added once more.
  package var again = false
  package var notes: [String] = []
  /// What directories have that was not added, if nobody asked for that.
  package var problem: String?
}

extension AddPlan {
  /// - Throws: when options contradict each other or a value is wrong; nothing was added.
  init(_ command: AddCommand, _ sources: CommandSources) throws(UsageError) {
    (json, quiet, again) = (command.json, command.quiet, command.again)
    (after, isPaused) = (command.queue.after, command.queue.paused)
    guard
      command.isUpload || !command.hasUploadOptions && (!command.run || command.s3.isEmpty)
    else {
      throw UsageError(
        "--method, --if-match, --links and the options of S3 are for uploads: add --put")
    }
    // Those for which a list says that no limit counts.
    var unlimited: Set<Int> = []
    if command.isUpload {
      let plan = try PutPlan(try PutCommand(command), sources)
      requests = plan.requests.map { TransferRequest(.upload($0)) }
      requests += try plan.rest?.all().map(\.request) ?? []
      (notes, problem) = (plan.notes, plan.problem)
    } else if command.run {
      guard !command.arguments.isEmpty else { throw UsageError("--run: give the program after --") }
      try command.checkProgram()
      requests = [TransferRequest.step(program: command.arguments)]
    } else {
      let get = try command.asGet
      var reader = try ItemReader(get, sources)
      let items = try reader.all()
      if let entry = items.first(where: { $0.maximumPerHost != nil })?.listEntry {
        throw UsageError("\(entry): max-per-host is for 'haul get'; 'haul serve' has the option")
      }
      if get.areRemote(items) {
        let plan = try PutPlan(get, items, reader, sources)
        requests = plan.requests.map { TransferRequest(.upload($0)) }
        takeQueueOptions(of: items, plan.indices ?? [], &unlimited)
        notes = plan.notes
      } else {
        let plan = try GetPlan(get, items, reader, sources)
        guard !plan.output.streams else {
          let output = command.destination.output ?? "-"
          throw UsageError("-o \(output): the daemon only writes files; use 'haul get'")
        }
        requests = plan.requests.map { TransferRequest(.download($0)) }
        takeQueueOptions(of: items, plan.indices, &unlimited)
        notes = plan.notes
      }
    }
    let queue = command.queue
    guard queue.identifier != "", queue.group != "" else {
      throw UsageError("--id and --group must not be empty")
    }
    if queue.identifier != nil, requests.count > 1 {
      throw UsageError("--id is the name of one transfer, but there are several")
    }
    let startsAt = try queue.at.map { (text) throws(UsageError) in
      try LocalTime.seconds(text, at: sources.wallSeconds)
    }
    for index in requests.indices {
      (requests[index].startSeconds, requests[index].repetition) = (startsAt, queue.every)
      if queue.every != nil { try requests[index].checkRepeating() }
      requests[index].identifier = queue.identifier
      requests[index].priority = queue.priority
      // A list may have another group, and another limit, for one of its addresses.
      if let group = queue.group, requests[index].group == nil { requests[index].group = group }
      if let rate = queue.rateLimit, rate > 0, requests[index].rateLimit == nil,
        !unlimited.contains(index)
      {
        requests[index].rateLimit = rate
      }
      requests[index].reportsProgress = !queue.noProgressEvents
    }
  }
}

extension AddPlan {
  /// - Parameter numbers: of the item of each request, from 1.
  private mutating func takeQueueOptions(
    of items: [GetItem], _ numbers: [Int], _ unlimited: inout Set<Int>
  ) {
    for (index, number) in zip(requests.indices, numbers) {
      requests[index].group = items[number - 1].group
      if items[number - 1].rateLimit == 0 { unlimited.insert(index) }
    }
  }
}

extension TransferRequest {
  fileprivate func checkRepeating() throws(UsageError) {
    do {
      try checkRepetition()
    } catch {
      throw UsageError("--every: \(error.message)")
    }
  }
}

extension PutCommand {
  /// The same uploads, with the defaults of the options that belong to the daemon.
  fileprivate init(_ command: AddCommand) throws(UsageError) {
    guard !command.run else { throw UsageError("an upload and --run contradict each other") }
    try command.checkUpload()
    let given = command.arguments.dropLast().first { PutPlan.descriptor($0) != nil }
    if let given {
      throw UsageError(
        "\(given): the daemon has no such input; save it to a file, or use 'haul put'")
    }
    self = try PutCommand.with()
    (arguments, method, ifMatch) = (command.arguments, command.method, command.ifMatch)
    (form, s3, tree) = (command.form, command.s3, command.tree)
    // Another default than that of downloads.
    if let given = command.destination.ifExists {
      guard let known = IfExists(rawValue: given.rawValue) else {
        throw UsageError("--if-exists: for an upload, use overwrite, skip, update or fail")
      }
      ifExists = known
    }
    credentials = command.credentials
    requests = command.requests
  }
}

extension AddCommand {
  /// The same downloads, with the defaults of the options that belong to the daemon.
  var asGet: GetCommand {
    get throws(UsageError) {
      var get = try GetCommand.with()
      get.urls = arguments
      (get.destination, get.content, get.credentials) = (destination, content, credentials)
      (get.ranges, get.s3, get.requests) = (ranges, s3, requests)
      return get
    }
  }
}

extension AddPlan {
  package func run(in context: ProcessContext) async -> ExitStatus {
    let status = await ControlPlan(perform: add).run(in: context)
    guard status == .completed, let problem else { return status }
    return await OutputStream.fail(problem)
  }

  private func add(_ session: ControlSession) async throws -> ExitStatus {
    let resolved = try UsageError.checked(
      WorkingDirectory.resolve(requests, in: WorkingDirectory.path))
    try await session.startIfNeeded(quiet: quiet)
    if !quiet { for note in notes { await OutputStream.warn(note) } }
    var dependencies: [TransferRequest.Dependency] = []
    for name in after {
      let found = try await session.client.transfer(name)
      // The daemon decides whether an identifier may be used.
      dependencies.append(found.identifier == name ? .identifier(name) : .transfer(found.id))
    }
    let new = try resolved.map { request in
      var request = request
      request.dependencies = dependencies
      request.download?.creationMask = session.context.creationMask
      return try NewTransfer(request)
    }
    // A connection may break after the daemon has added them: the same key adds nothing twice.
    let key = "\(UInt64.random(in: .min ... .max))"
    var (ids, same, status) = ([TransferID](), [TransferID](), ExitStatus.completed)
    for start in stride(from: 0, to: new.count, by: AddBody.maximumCount) {
      let part = new[start..<min(start + AddBody.maximumCount, new.count)]
      // A name that another transfer has would hide that nothing is done.
      let isNamed = part.contains { $0.request.identifier != nil }
      let body = AddBody(
        transfers: Array(part), ifKnown: isNamed ? .match : nil, isPaused: isPaused ? true : nil,
        findsSame: again ? nil : true)
      let answer = try await session.client.add(body, key: "\(key)-\(start)")
      ids += answer.ids
      same += answer.same ?? []
      // If a later call fails, these were added.
      if !json { status = await OutputStream.show(answer.ids.map { "\($0)\n" }.joined()) }
    }
    let begins = resolved.contains { $0.repetition != nil && $0.startSeconds != nil }
    if !quiet { await tell(same, keepingTimes: begins) }
    guard json else { return status }
    let answer = AddResponse(ids: ids, same: same.isEmpty ? nil : same)
    return await OutputStream.show(try JSONLines.line(of: answer))
  }

  private static let toldOf = 5

  /// Says which were in the list.
  /// - Parameter keepsTimes: whether a time was given from which one of them was to repeat.
  private func tell(_ same: [TransferID], keepingTimes keepsTimes: Bool) async {
    for id in same.prefix(Self.toldOf) {
      let next = keepsTimes ? "its times stay: haul set \(id) --at TIME" : "haul show \(id)"
      await OutputStream.warn("\(id) is in the list already, and was not added; \(next)")
    }
    guard same.count > Self.toldOf else { return }
    await OutputStream.warn(
      "\(Units.count(same.count - Self.toldOf)) others are in the list already, too")
  }
}
