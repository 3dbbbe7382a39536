package import HaulCore

/// Everything that `haul put` will do, made from the options without side effects.
package struct PutPlan: Hashable, Sendable {
  package var requests: [UploadRequest]
  package var managerOptions: ManagerOptions
  package var output: OutputOptions
}

extension PutPlan {
  /// - Throws: when options contradict each other or a value is wrong; nothing was started.
  init(_ command: PutCommand, _ sources: CommandSources) throws(UsageError) {
    guard let address = command.arguments.last, command.arguments.count > 1 else {
      throw UsageError("give the files, then the address to upload to: haul put FILE... URL")
    }
    if address.hasPrefix(Self.s3Prefix) {
      self = try Self.s3(command, address, sources)
      return
    }
    guard command.s3.endpoint == nil, command.s3.region == nil else {
      throw UsageError("--s3-endpoint and --s3-region are for s3://bucket/key")
    }
    let isTus = address.hasPrefix(Self.tusPrefix)
    let url = try AddressArgument.url(isTus ? String(address.dropFirst(4)) : address)
    let method = isTus ? UploadRequest.Method.tus : command.method ?? .put
    let files = command.arguments.dropLast()
    let isCollection = url.pathAndQuery.prefix { $0 != "?" }.hasSuffix("/")
    guard files.count == 1 || isCollection || method != .put else {
      throw UsageError(
        "several files need an address that ends with '/': there each keeps its name")
    }
    try Self.checkUse(of: command, method, isTus: isTus)
    let common = try Self.common(command, url, sources)
    requests = []
    for file in files {
      var upload = UploadRequest(file, to: common.url)
      if isCollection, method == .put { upload.url = try Self.address(of: file, in: url) }
      upload.method = method
      Self.apply(common, command, to: &upload)
      requests.append(upload)
    }
    guard Set(requests.map(\.url)).count == requests.count || method != .put else {
      throw UsageError("two files have the same name; upload them to different addresses")
    }
    managerOptions = try ManagerOptions(
      command.limits, connections: 1, command.network.connections)
    output = command.output.values
    output.resumes = isTus
  }

  /// Before the scheme of an address that creates uploads by tus.
  private static let tusPrefix = "tus+"

  static func apply(
    _ common: DownloadRequest, _ command: PutCommand, to upload: inout UploadRequest
  ) {
    upload.precondition = precondition(command)
    upload.fields = HeaderFields(common.fields.fields + upload.fields.fields)
    upload.retry = common.retry
    upload.allowInsecure = common.allowInsecure
  }

  static func checkUse(
    of command: PutCommand, _ method: UploadRequest.Method, isTus: Bool
  ) throws(UsageError) {
    if isTus, command.method != nil {
      throw UsageError("--method is for plain HTTP: with tus+ the protocol says how to send")
    }
    for file in command.arguments.dropLast() {
      guard file != "-" else { throw UsageError("standard input (-) is not yet supported") }
      guard !file.isEmpty, !file.utf8.contains(0) else {
        throw UsageError("the name of a file is empty or has a NUL")
      }
    }
    if command.ifMatch != nil, command.ifExists != nil {
      throw UsageError("--if-match and --if-exists contradict each other")
    }
    if method != .put, command.ifMatch != nil || command.ifExists != nil {
      throw UsageError(
        "--if-exists and --if-match are for PUT: here the server decides where the file goes")
    }
    if let tag = command.ifMatch, EntityTag(tag)?.isWeak != false {
      throw UsageError("--if-match: a strong entity tag has quotes, such as '\"abc\"'")
    }
  }

  private static func precondition(_ command: PutCommand) -> UploadRequest.Precondition {
    if let tag = command.ifMatch { return .entityTag(tag) }
    return command.ifExists == false ? .absent : .none
  }

  /// Address, header fields and retries, from the options that `get` has too.
  static func common(
    _ command: PutCommand, _ url: ResourceURL, _ sources: CommandSources
  ) throws(UsageError) -> DownloadRequest {
    var headers: [HeaderArgument.Field] = []
    for text in command.network.requests.headers {
      headers += try HeaderArgument.fields(text, sources)
    }
    var common = DownloadRequest(url: url, to: .stream)
    common.headers = headers.map { ($0.name, $0.value) }
    command.network.requests.apply(to: &common)
    var authorization = try Authorization(command.credentials, headers: headers, sources)
    try authorization.apply(to: &common)
    try CookieField(command.credentials, headers: headers, sources).apply(to: &common)
    return common
  }

  static func name(of file: String) throws(UsageError) -> String {
    let name = file.split(separator: "/").last.map(String.init) ?? ""
    guard !name.isEmpty, name != ".", name != ".." else {
      throw UsageError("\(file): that names no file")
    }
    return name
  }

  /// The address of a file in a collection; the query stays.
  private static func address(
    of file: String, in url: ResourceURL
  ) throws(UsageError) -> ResourceURL {
    let name = try name(of: file)
    let encoded = name.utf8.map { byte in
      PercentCoding.isUnreserved(byte) ? String(UnicodeScalar(byte)) : PercentCoding.encoded(byte)
    }
    let query = url.pathAndQuery.drop { $0 != "?" }
    do {
      return try url.resolving("./" + encoded.joined() + query).adoptingCredentials(of: url)
    } catch {
      throw UsageError("\(file): \(error.message)")
    }
  }

  static func method(_ text: String) throws(UsageError) -> UploadRequest.Method {
    switch text {
    case "put": return .put
    case "post": return .post
    default: throw UsageError("use put or post")
    }
  }

  static func replaces(_ text: String) throws(UsageError) -> Bool {
    switch text {
    case "overwrite": return true
    case "fail": return false
    default: throw UsageError("use overwrite or fail")
    }
  }
}
