import HaulCore

/// `haul get URL -o s3://bucket/key`: an upload whose source is remote.
extension PutPlan {
  /// Whether what `-o` names is on another server.
  static func isRemote(_ output: String?) -> Bool {
    guard let output else { return false }
    return isS3(output) || ["http://", "https://"].contains { output.hasBytePrefix($0) }
      || UploadScheme(of: output) != nil
  }

  /// - Throws: when options contradict each other or cannot apply; nothing was started.
  init(_ command: GetCommand, _ sources: CommandSources) throws(UsageError) {
    let address = command.destination.output ?? ""
    try Self.checkRemoteUse(of: command, to: address)
    let (source, session) = try Self.source(command, sources)
    var upload =
      Self.isS3(address)
      ? try Self.upload(source, toObject: address, command.s3, sources)
      : try Self.upload(source, to: address)
    upload.precondition = command.destination.ifExists == .fail ? .absent : .none
    if upload.method == .resumable, upload.precondition == .absent { upload.method = .put }
    let kind = upload.method.uploadProtocol
    guard kind.namesFile || upload.precondition == .none else {
      throw UsageError("--if-exists is for PUT: here the server decides where the file goes")
    }
    upload.retry = source.retry
    requests = [upload]
    managerOptions = try ManagerOptions(
      command.limits, connections: kind.parts == nil ? 1 : 4, command.connections)
    managerOptions.session = session
    output = command.output.values
    output.resumes = kind.parts != nil
  }

  /// The source, with the options that it has as a download.
  private static func source(
    _ command: GetCommand, _ sources: CommandSources
  ) throws(UsageError) -> (DownloadRequest, RunSession?) {
    var download = command
    // The bytes of such a download have no place on this machine either.
    download.destination.output = "/dev/null"
    download.destination.ifExists = .update
    (download.s3.endpoint, download.s3.region, download.s3.addressing) = (nil, nil, nil)
    let plan = try GetPlan(download, sources)
    guard plan.requests.count == 1, let source = plan.requests.first, source.destination == .stream
    else {
      throw UsageError("a list with out or dir and an -o on another server contradict each other")
    }
    return (source, plan.managerOptions.session)
  }

  private static func checkRemoteUse(
    of command: GetCommand, to address: String
  ) throws(UsageError) {
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
    guard isS3(address) || command.s3.isEmpty else { throw S3Options.misused }
  }

  private static func upload(
    _ source: DownloadRequest, toObject address: String, _ options: S3Options,
    _ sources: CommandSources
  ) throws(UsageError) -> UploadRequest {
    let settings = try S3Settings(options, sources)
    let name = address.hasByteSuffix("/") ? FileName(source.url).text : ""
    let (bucket, key) = s3Parts(address + name)
    do throws(TransferError) {
      let object = try S3Object(
        bucket: bucket, key: key, region: settings.region,
        endpoint: settings.endpoint, addressing: settings.addressing)
      return UploadRequest(from: source, to: object, credentials: settings.credentials)
    } catch {
      throw UsageError("\(address): \(error.message)")
    }
  }

  private static func upload(
    _ source: DownloadRequest, to address: String
  ) throws(UsageError) -> UploadRequest {
    let scheme = UploadScheme(of: address)
    var url = try AddressArgument.url(scheme?.address ?? address)
    let method = scheme?.method ?? .resumable
    if method.uploadProtocol.namesFile, url.path.hasByteSuffix("/") {
      let name = FileName(source.url).text
      url = try UploadSources.Source(path: name, names: [name]).address(in: url)
    }
    var upload = UploadRequest(from: source, to: url)
    upload.method = method
    return upload
  }
}
