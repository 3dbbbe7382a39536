import HaulCore

/// Uploads to `s3://bucket/key`.
extension PutPlan {
  /// Before the bucket and the key.
  static let s3Prefix = "s3://"

  static func isS3(_ address: String) -> Bool {
    // Each line of a list comes here.
    address.utf8.first.map { $0 | 0x20 == UInt8(ascii: "s") } == true
      && address.lowercased().hasBytePrefix(s3Prefix)
  }

  /// The bucket, and the key as it is written.
  static func s3Parts(_ address: String) -> (bucket: String, key: String) {
    let path = Substring(address.utf8.dropFirst(s3Prefix.utf8.count))
    let bucket = path.prefix(beforeAnyOf: "/")
    return (String(bucket), String(Substring(path.utf8.dropFirst(bucket.utf8.count + 1))))
  }

  /// - Parameter address: the key is taken as it is, without decoding.
  static func s3(
    _ command: PutCommand, _ address: String, _ sources: CommandSources
  ) throws(UsageError) -> PutPlan {
    let (bucket, key) = s3Parts(address)
    let files = command.arguments.dropLast()
    let isCollection = key.isEmpty || key.hasByteSuffix("/")
    try checkS3Use(of: command, isCollection: isCollection)
    let input = try input(files, needsName: isCollection, sources)
    let settings = try S3Settings(command.s3, sources)
    let all = try UploadSources(
      files, by: .s3, isCollection: isCollection, command.tree.links, input, sources)
    @Sendable func object(_ key: String) throws(UsageError) -> S3Object {
      try UsageError.checked(settings.object(bucket, key), at: address)
    }
    // The same for all: no credentials of an address are asked for.
    let common = try common(
      command, object(isCollection ? key + "x" : key).url, sources
    ).request
    guard common.headers["Authorization"] == nil else {
      throw UsageError("-H Authorization: requests to s3:// are signed with the access key")
    }
    if let name = common.headers.nonASCIIMetadata {
      throw UsageError("-H \(name): S3 takes only ASCII in metadata; encode the value")
    }
    let (precondition, ifExists) = (precondition(command), ifExists(command))
    let uploads = SourceUploads(of: all) { (source) throws(UsageError) in
      let object = try object(isCollection ? key + (try source.key()) : key)
      var upload = UploadRequest(to: object, credentials: settings.credentials)
      source.apply(to: &upload)
      upload.keySource = settings.keySource
      (upload.precondition, upload.ifExists) = (precondition, ifExists)
      apply(common, to: &upload)
      return upload
    }
    let complete = try command.completeFiles()
    let (requests, indices, rest) = try uploads.checked(
      names: true, window: sources.window, complete)
    var output = command.output.values
    output.input = input
    var options = try ManagerOptions(command.limits, connections: 4, command.connections)
    options.certificateAuthorities =
      options.certificateAuthorities ?? settings.certificateAuthorities
    return PutPlan(
      requests: requests, managerOptions: options, output: output, indices: indices, rest: rest,
      notes: all.leftOut.notes(command.tree.links), manifest: complete?.manifest,
      problem: all.leftOut.problem(command.tree.links))
  }

  private static func checkS3Use(of command: PutCommand, isCollection: Bool) throws(UsageError) {
    if command.method != nil {
      throw UsageError("--method is for plain HTTP: with s3:// the protocol says how to send")
    }
    try checkUse(of: command, .put, hasScheme: false, isCollection: isCollection)
    let credentials = command.credentials
    guard credentials.user == nil, credentials.passwordFile == nil, credentials.bearerFile == nil,
      credentials.netrc == nil, credentials.cookies.isEmpty, credentials.cookieFiles.isEmpty
    else {
      throw UsageError(
        "s3:// has an access key of its own, from AWS_ACCESS_KEY_ID, ~/.aws/credentials or a role")
    }
  }
}
