import HaulCore

/// `haul get URL -o s3://bucket/key`: uploads whose sources are remote.
extension PutPlan {
  /// Whether what `-o` or `out` names is on another server.
  static func isRemote(_ output: String?) -> Bool {
    guard let output else { return false }
    return isS3(output) || ["http://", "https://"].contains { output.hasBytePrefix($0) }
      || UploadScheme(of: output) != nil
  }

  /// - Throws: when options contradict each other or cannot apply; nothing was started.
  init(
    _ command: GetCommand, _ items: [GetItem], _ sources: CommandSources
  ) throws(UsageError) {
    try GetPlan.checkUse(of: command, count: items.count)
    try Self.checkRemoteUse(of: command)
    var downloads = try ItemRequests(command.withoutPlace, sources, from: items[0].url)
    var targets = try RemoteTargets(command, items, sources)
    (requests, notes) = ([], downloads.notes)
    manifest = try command.manifestPath()
    var indices: [Int] = []
    for (number, item) in items.enumerated() {
      let source = try downloads.request(for: item)
      var upload = try targets.upload(source, of: item, number: number + 1)
      upload.precondition = try Self.precondition(command, upload.method)
      if upload.method == .resumable, upload.precondition == .absent { upload.method = .put }
      upload.retry = source.retry
      upload.rateLimit = source.rateLimit
      if let warning = try targets.insert(upload, of: item) {
        notes.append(warning)
        continue
      }
      requests.append(upload)
      indices.append(number + 1)
    }
    self.indices = indices
    let haveParts = requests.allSatisfy { $0.method.uploadProtocol.parts != nil }
    managerOptions = try ManagerOptions(
      command.limits, connections: haveParts ? 4 : 1, command.connections)
    // The slots are those of the store, which does not tell the hosts of the sources apart.
    if let least = items.compactMap(\.maximumPerHost).min() {
      managerOptions.maximumActive = min(managerOptions.maximumActive, least)
    }
    downloads.addCredentials(to: &managerOptions)
    output = command.output.values
    output.resumes = haveParts
  }

  private static func precondition(
    _ command: GetCommand, _ method: UploadRequest.Method
  ) throws(UsageError) -> UploadRequest.Precondition {
    guard command.destination.ifExists == .fail else { return .none }
    guard method.uploadProtocol.namesFile else {
      throw UsageError("--if-exists is for PUT: here the server decides where the file goes")
    }
    return .absent
  }

  private static func checkRemoteUse(of command: GetCommand) throws(UsageError) {
    let (destination, content) = (command.destination, command.content)
    let refused = [
      ("-d", destination.directory != nil),
      ("--if-exists skip", destination.ifExists == .skip),
      ("--if-exists rename", destination.ifExists == .rename),
      ("--durability", destination.durability != .strict),
      ("--remote-name", destination.remoteName == true),
      ("--start-over", destination.startOver == true),
      ("--allow-unverified", content.allowUnverified == true),
      ("--decode", content.decode == true),
      ("--min-split", command.ranges.minimumSplit != nil),
      ("--cache", command.cache == true),
    ]
    if let (option, _) = refused.first(where: \.1) {
      throw UsageError("\(option) is for files of this machine; -o names a place on another server")
    }
  }
}

extension GetCommand {
  /// The same, for bytes that have no place on this machine.
  fileprivate var withoutPlace: GetCommand {
    var command = self
    command.destination.ifExists = .update
    return command
  }
}
