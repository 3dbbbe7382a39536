package import HaulCore

/// Everything that `haul put` will do, made from the options without side effects.
package struct PutPlan: Hashable, Sendable {
  package var requests: [UploadRequest]
  package var managerOptions: ManagerOptions
  package var output: OutputOptions
  /// For each request, the number of its address in the arguments, from 1; nil if none was left
  /// out.
  package var indices: [Int]?
  /// Whether all of it goes to S3 stores.
  package var goesToStores = true
  /// What follows the requests; nil if they are all.
  package var rest: InputRest?
  /// Notes for the user before the start: lines for standard error.
  package var notes: [String] = []
  /// Nil without one.
  package var manifest: RunManifest?
  /// What directories have that is not sent, if nobody asked for that.
  package var problem: String?
}

extension PutPlan {
  /// - Throws: when options contradict each other or a value is wrong; nothing was started.
  init(_ command: PutCommand, _ sources: CommandSources) throws(UsageError) {
    guard command.connections.http2 != true else {
      throw UsageError("--http2 is for downloads; put speaks HTTP/1.1")
    }
    guard command.requests.trustedHosts.isEmpty else {
      throw UsageError("--trust-redirects is for downloads; put has none")
    }
    guard command.form.isEmpty else {
      self = try Self.form(command, sources)
      return
    }
    guard let address = command.arguments.last, command.arguments.count > 1 else {
      throw UsageError("give the files, then the address to upload to: haul put FILE... URL")
    }
    try UploadScheme.check(command.arguments)
    if Self.isS3(address) {
      self = try Self.s3(command, address, sources)
      return
    }
    guard command.s3.isEmpty else { throw S3Options.misused }
    let scheme = UploadScheme(of: address)
    let url = try AddressArgument.url(scheme?.address ?? address)
    let precondition = Self.precondition(command)
    let isConditional = precondition != .none || command.asksForExisting
    let method = scheme?.method ?? command.method ?? (isConditional ? .put : .resumable)
    let kind = method.uploadProtocol
    let files = command.arguments.dropLast()
    let isCollection = url.pathAndQuery.prefix(beforeAnyOf: "?").hasByteSuffix("/")
    try Self.checkUse(
      of: command, method, hasScheme: scheme != nil, isCollection: isCollection)
    let (common, notes) = try Self.common(command, url, sources)
    let input = try Self.input(files, needsName: isCollection && kind.namesFile, sources)
    var upload = UploadRequest(to: common.url)
    (upload.method, upload.precondition) = (method, precondition)
    upload.ifExists = Self.ifExists(command)
    Self.apply(common, to: &upload)
    let all = try UploadSources(
      files, by: method, isCollection: isCollection, command.tree.links, input, sources)
    let uploads = SourceUploads(of: all) { [upload] (source) throws(UsageError) in
      var upload = upload
      source.apply(to: &upload)
      if isCollection, kind.namesFile { upload.url = try source.address(in: url) }
      return upload
    }
    let complete = try command.completeFiles()
    (requests, indices, rest) = try uploads.checked(
      names: kind.namesFile, window: sources.window, complete)
    (manifest, self.notes) = (complete?.manifest, notes + all.leftOut.notes(command.tree.links))
    problem = all.leftOut.problem(command.tree.links)
    managerOptions = try ManagerOptions(
      command.limits, connections: 1, command.connections)
    output = command.output.values
    output.resumes = kind.resuming == .always
    output.input = input
  }

  /// The open descriptor that is uploaded; nil if files are.
  /// - Parameter needsName: whether the address is that of a collection.
  static func input(
    _ files: ArraySlice<String>, needsName: Bool, _ sources: CommandSources
  ) throws(UsageError) -> Int32? {
    guard let name = files.first(where: { descriptor($0) != nil }), let input = descriptor(name)
    else { return nil }
    let shown = name == inputName ? "standard input (-)" : name
    guard files.count == 1 else {
      let file = name == inputName ? "; write ./- for a file of that name" : ""
      throw UsageError("\(shown) is uploaded alone\(file)")
    }
    guard !needsName else {
      throw UsageError("\(shown) has no name; give the whole address, with a name")
    }
    // Another number may be a descriptor of haul's own by the time at which it is read.
    guard input == 0 || sources.isOpen(input) else {
      throw UsageError("\(name): that descriptor is not open for reading")
    }
    return input
  }

  /// How standard input is written.
  static let inputName = "-"

  /// The open descriptor that an argument names: `-`, `/dev/stdin`, or what a shell writes for
  /// `<(command)`. Such a path leads to no file that can be looked at again.
  static func descriptor(_ file: String) -> Int32? {
    if [inputName, "/dev/stdin"].contains(file) { return 0 }
    for directory in ["/dev/fd/", "/proc/self/fd/"] {
      guard let number = file.dropping(bytePrefix: directory) else { continue }
      guard number.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
      return Int32(number)
    }
    return nil
  }

  static func checkUse(
    of command: PutCommand, _ method: UploadRequest.Method, hasScheme: Bool, isCollection: Bool
  ) throws(UsageError) {
    let kind = method.uploadProtocol
    let files = command.arguments.dropLast()
    guard files.count == 1 || isCollection || !kind.namesFile else {
      throw UsageError(
        "several files need an address that ends with '/': there each keeps its name")
    }
    if hasScheme, command.method != nil {
      throw UsageError("--method is for plain HTTP: the scheme of the address says how to send")
    }
    for file in files {
      guard !file.isEmpty, !file.utf8.contains(0) else {
        throw UsageError("the name of a file is empty or has a NUL")
      }
    }
    if command.ifMatch != nil, command.ifExists != nil {
      throw UsageError("--if-match and --if-exists contradict each other")
    }
    if kind.canRequireAbsence, !kind.canRequireVersion, command.ifMatch != nil {
      throw UsageError("--if-match is for plain PUT; \(kind.name) has --if-exists fail")
    }
    if !kind.namesFile, command.ifMatch != nil || command.ifExists != nil {
      throw UsageError(
        "--if-exists and --if-match are for PUT: here the server decides where the file goes")
    }
    if command.asksForExisting, let file = files.first(where: { descriptor($0) != nil }) {
      throw UsageError(
        "--if-exists skip and update are for files; what \(file) gives is read only once")
    }
    if let tag = command.ifMatch, EntityTag(tag)?.isWeak != false {
      throw UsageError("--if-match: a strong entity tag has quotes, such as '\"abc\"'")
    }
  }

  static func precondition(_ command: PutCommand) -> UploadRequest.Precondition {
    if let tag = command.ifMatch { return .entityTag(tag) }
    return command.ifExists == .fail ? .absent : .none
  }

  static func ifExists(_ command: PutCommand) -> UploadRequest.IfExists {
    switch command.ifExists {
    case .skip: .skip
    case .update: .update
    case .overwrite, .fail, nil: .overwrite
    }
  }

  static func apply(_ common: DownloadRequest, to upload: inout UploadRequest) {
    upload.headers = HeaderFields(common.headers.fields + upload.headers.fields)
    (upload.retry, upload.bearerFile) = (common.retry, common.bearerFile)
    upload.allowInsecure = common.allowInsecure
  }

  /// Address, header fields and retries, from the options that `get` has too; and what the user
  /// should know of them.
  static func common(
    _ command: PutCommand, _ url: ResourceURL, _ sources: CommandSources
  ) throws(UsageError) -> (request: DownloadRequest, notes: [String]) {
    guard
      !(command.credentials.files + command.requests.files).contains(inputName)
        || !command.arguments.contains(where: { descriptor($0) == 0 })
    else { throw UsageError("an option names standard input (-), which is what is uploaded") }
    let headers = try command.requests.fields(sources)
    var common = DownloadRequest(url: url, to: .stream)
    common.headers = HeaderFields(headers)
    command.requests.apply(to: &common)
    var authorization = try Authorization(command.credentials, headers: headers, sources)
    var servers = ServerCredentials(sources)
    try servers.apply(to: &common)
    try authorization.apply(to: &common)
    try CookieField(command.credentials, headers: headers, sources).apply(to: &common)
    return (common, servers.notes)
  }

  static func method(_ text: String) throws(UsageError) -> UploadRequest.Method {
    switch text {
    case "put": return .put
    case "post": return .post
    default: throw UsageError("use put or post")
    }
  }
}

extension PutCommand {
  /// Whether what the server has decides if a file is sent.
  var asksForExisting: Bool { ifExists == .skip || ifExists == .update }
}
