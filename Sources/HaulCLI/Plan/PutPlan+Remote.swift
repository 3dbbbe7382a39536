import HaulCore

/// `haul get URL -o s3://bucket/key`: uploads whose sources are remote.
extension PutPlan {
  /// Whether what `-o` or `out` names is on another server.
  static func isRemote(_ output: String?) -> Bool {
    guard let output else { return false }
    return isS3(output) || ["http://", "https://"].contains { output.hasBytePrefix($0) }
      || UploadScheme(of: output) != nil
  }

  /// - Parameters:
  ///   - items: the first ones.
  ///   - reader: what follows them. It is checked here, and not kept.
  /// - Throws: when options contradict each other or cannot apply; nothing was started.
  init(
    _ command: GetCommand, _ items: [GetItem], _ reader: ItemReader, _ sources: CommandSources
  ) throws(UsageError) {
    try GetPlan.checkUse(of: command, count: items.count + (reader.isAtEnd ? 0 : 1))
    try Self.checkRemoteUse(of: command)
    var uploads = try ItemUploads(command, items, areAll: reader.isAtEnd, sources)
    var (places, all) = (RemotePlaces(), reader)
    var survey = try ItemSurvey(uploads.downloads.notes, command.completeFiles(sources))
    requests = []
    let manifestObject = try command.storedManifest(sources)?.object.object.url.absoluteString
    var (indices, number, further) = ([Int](), 0, 0)
    var (haveParts, hasObject, least) = (true, false, Int?.none)
    var some = items
    while !some.isEmpty {
      for item in some {
        number += 1
        let upload = try uploads.upload(for: item, number: number)
        guard upload.url.absoluteString != manifestObject else {
          throw UsageError("--manifest: a file of the list would be the manifest too")
        }
        let warning = try places.insert(upload, of: item, number: number) {
          (number) throws(UsageError) in
          let item = try all.item(number)
          return (item, try uploads.upload(for: item, number: number))
        }
        haveParts = haveParts && upload.method.uploadProtocol.parts != nil
        goesToStores = goesToStores && upload.method == .s3
        if survey.leavesOut(number, warning, TransferRequest(.upload(upload))) { continue }
        guard number <= items.count else {
          further += 1
          continue
        }
        requests.append(upload)
        indices.append(number)
      }
      hasObject = hasObject || some.contains { $0.object != nil }
      if let limit = some.compactMap(\.maximumPerHost).min() { least = min(limit, least ?? limit) }
      some = try all.next(atMost: GetPlan.checkedAtOnce)
    }
    guard command.s3.isEmpty || hasObject || uploads.targets.areS3 else { throw S3Options.misused }
    notes = survey.allNotes + uploads.downloads.serverNotes
    notes += all.columnNotes(except: uploads.targets.columns)
    (self.indices, manifest) = (indices, survey.manifest)
    if further > 0 {
      rest = InputRest(
        count: further, window: sources.window,
        ItemTransferReader(reader, uploads, after: items.count, leavingOut: survey.leftOut))
    }
    managerOptions = try ManagerOptions(
      command.limits, connections: haveParts ? 4 : 1, command.connections)
    // The slots are those of the store, which does not tell the hosts of the sources apart.
    if let least { managerOptions.maximumActive = min(managerOptions.maximumActive, least) }
    uploads.downloads.addCredentials(to: &managerOptions)
    output = command.output.values
    output.resumes = haveParts
    output.bucketsAreInHosts = uploads.targets.bucketsAreInHosts
  }

  private static func checkRemoteUse(of command: GetCommand) throws(UsageError) {
    let (destination, content) = (command.destination, command.content)
    let refused = [
      ("-d", destination.directory != nil), ("--rule", !destination.rules.isEmpty),
      ("--if-exists skip", destination.ifExists == .skip),
      ("--if-exists rename", destination.ifExists == .rename),
      ("--durability", destination.durability != .strict),
      ("--remote-name", destination.remoteName == true),
      ("--keep-paths", destination.keepPaths == true),
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

/// Makes the upload of each address to its place on another server.
struct ItemUploads: ItemTransfers {
  private(set) var downloads: ItemRequests
  private(set) var targets: RemoteTargets
  private let ifExists: DownloadRequest.IfExists

  /// - Parameter items: the first ones; all of them if `areAll`.
  init(
    _ command: GetCommand, _ items: [GetItem], areAll: Bool, _ sources: CommandSources
  ) throws(UsageError) {
    downloads = try ItemRequests(command.withoutPlace, sources, from: items[0].url)
    targets = try RemoteTargets(command, items, areAll: areAll, sources)
    ifExists = command.destination.ifExists ?? .update
  }

  mutating func upload(for item: GetItem, number: Int) throws(UsageError) -> UploadRequest {
    var source = try downloads.request(for: item)
    if ifExists == .overwrite { source.ifExists = .overwrite }
    var upload = try targets.upload(source, of: item, number: number)
    upload.precondition = try precondition(upload.method)
    if upload.method == .resumable, upload.precondition == .absent { upload.method = .put }
    upload.retry = source.retry
    upload.rateLimit = source.rateLimit
    return upload
  }

  mutating func transfer(for item: GetItem, number: Int) throws(UsageError) -> TransferRequest {
    TransferRequest(.upload(try upload(for: item, number: number)))
  }

  private func precondition(
    _ method: UploadRequest.Method
  ) throws(UsageError) -> UploadRequest.Precondition {
    guard ifExists == .fail else { return .none }
    guard method.uploadProtocol.namesFile else {
      throw UsageError("--if-exists is for PUT: here the server decides where the file goes")
    }
    return .absent
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
