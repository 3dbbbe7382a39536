package import HaulCore

/// To and from the library's request.
extension NewTransfer {
  /// - Throws: `Problem` (422) for a value that no transfer can have.
  package func request() throws(Problem) -> TransferRequest {
    var request = TransferRequest(try work())
    for name in [identifier, group].compactMap(\.self) {
      // It is kept in memory, shown, and passed to programs.
      guard (1...Self.longestName).contains(name.utf8.count) else {
        throw Self.wrong("a name has 1 to \(Self.longestName) bytes")
      }
    }
    request.identifier = identifier
    request.group = group
    if let priority { request.priority = try Self.priority(priority) }
    request.after = try (after ?? []).map { (dependency) throws(Problem) in
      switch (dependency.id, dependency.identifier) {
      case (let id?, nil): .transfer(id)
      case (nil, let name?): .identifier(name)
      default: throw Self.wrong("a dependency has either an 'id' or an 'identifier'")
      }
    }
    request.whenDependencyFails = whenDependencyFails ?? request.whenDependencyFails
    request.reportsProgress = reportsProgress ?? request.reportsProgress
    request.startsAt = try startsAt.flatMap(Self.startTime)
    return request
  }

  private static let longestName = 1024

  package static func priority(_ name: String) throws(Problem) -> TransferRequest.Priority {
    guard let priority = TransferRequest.Priority(name: name) else {
      throw wrong("there is no priority '\(name)'; use \(TransferRequest.Priority.names)")
    }
    return priority
  }

  /// A start time; nil for at once.
  package static func startTime(_ seconds: Double) throws(Problem) -> Double? {
    guard (0...1e11).contains(seconds) else {
      throw wrong("'starts_at' is a time in seconds since 1970, up to the year 5138")
    }
    return seconds > 0 ? seconds : nil
  }

  /// A rate limit; nil for none.
  package static func rate(_ bytesPerSecond: Int64) throws(Problem) -> Int64? {
    try notNegative(bytesPerSecond, "rate_limit").flatMap { $0 > 0 ? $0 : nil }
  }

  private func work() throws(Problem) -> TransferRequest.Work {
    if let url, let get, put == nil, form == nil, run == nil {
      return .upload(try upload(get, to: url))
    }
    guard get == nil else { throw Self.wrong("'get' needs a 'url', and no other work") }
    switch (url, put, form, run) {
    case (let url?, nil, nil, nil): return .download(try download(url))
    case (let url?, let path?, nil, nil): return .upload(try upload(path, to: url))
    case (let url?, nil, let parts?, nil): return .upload(try upload(parts, to: url))
    case (_?, _?, _?, nil): throw Self.wrong("an upload has either a 'put' or a 'form'")
    case (nil, nil, nil, let arguments?):
      guard arguments.first?.isEmpty == false else { throw Self.wrong("'run' names no program") }
      guard !arguments.contains(where: { $0.hasByte(0) }) else {
        throw Self.wrong("an argument of 'run' must not contain a NUL")
      }
      let directory = try workingDirectory.map(Self.absolute)
      var step = StepRequest(.program(arguments, directory: directory))
      step.isIdempotent = isIdempotent ?? false
      return .step(step)
    default: throw Self.wrong("a transfer has either a 'url' or a 'run'")
    }
  }

  func retryPolicy(_ base: RetryPolicy) throws(Problem) -> RetryPolicy {
    var policy = base
    policy.retries = try Self.notNegative(retries, "retries") ?? base.retries
    if let time = try Self.notNegative(maximumRetryTime, "maximum_retry_time") {
      policy.maximumTimeWithoutProgress = .seconds(min(time, 1e9))
    }
    return policy
  }

  func download(_ text: String) throws(Problem) -> DownloadRequest {
    var request = DownloadRequest(url: try Self.address(text), to: try destination())
    func set<Value>(
      _ path: WritableKeyPath<DownloadRequest, Value>, _ value: Value?
    ) {
      if let value { request[keyPath: path] = value }
    }
    set(\.createsDirectories, createsDirectories)
    set(\.ifExists, ifExists)
    set(\.durability, durability)
    request.checksums = try (checksums ?? []).map { (text) throws(Problem) in
      guard let checksum = Checksum(text) else {
        throw Self.wrong("a checksum is written as sha-256=HEX")
      }
      return checksum
    }
    set(\.headers, try headers.map { (all) throws(Problem) in try all.map(Self.field) })
    set(\.connections, try Self.positive(connections, "connections"))
    request.rateLimit = try rateLimit.flatMap(Self.rate)
    set(\.minimumSplit, try Self.positive(minimumSplit, "minimum_split"))
    request.maximumSize = try Self.notNegative(maximumSize, "maximum_size")
    set(\.decodesContent, decodesContent)
    set(\.usesSuggestedName, usesSuggestedName)
    set(\.startOver, startOver)
    set(\.allowUnverified, allowUnverified)
    set(\.resumesFromOtherURL, resumesFromOtherURL)
    set(\.allowInsecure, allowInsecure)
    request.creationMask = try umask.map(Self.mask)
    set(\.trustedRedirectHosts, trustedRedirectHosts.map(Set.init))
    request.retry = try retryPolicy(request.retry)
    return request
  }

  private func destination() throws(Problem) -> DownloadRequest.Destination {
    switch (file, directory) {
    case (let path?, nil): .file(try Self.absolute(path))
    case (nil, let path?): .directory(try Self.absolute(path))
    default: throw Self.wrong("a download has either a 'file' or a 'directory'")
    }
  }

  static func absolute(_ path: String) throws(Problem) -> String {
    guard path.isAbsolutePath else { throw wrong("the path '\(path)' is not absolute") }
    return path
  }

  private static func positive<Number: BinaryInteger>(
    _ number: Number?, _ key: String
  ) throws(Problem) -> Number? {
    guard number.map({ $0 > 0 }) ?? true else { throw wrong("'\(key)' must be at least 1") }
    return number
  }

  private static func notNegative<Number: SignedNumeric & Comparable>(
    _ number: Number?, _ key: String
  ) throws(Problem) -> Number? {
    guard number.map({ $0 >= 0 }) ?? true else { throw wrong("'\(key)' must not be negative") }
    return number
  }

  /// A field that can be sent (RFC 9110, section 5). The message has no value: it may be a secret.
  static func field(_ field: Field) throws(Problem) -> (name: String, value: String) {
    guard HeaderFields.isName(field.name), HeaderFields.isValue(field.value) else {
      throw wrong("'headers': a name or a value has a forbidden character")
    }
    guard !HeaderFields.isReserved(field.name) else {
      throw wrong("'headers': \(field.name) is set by haul itself and cannot be given")
    }
    return (field.name, field.value)
  }

  private static func mask(_ text: String) throws(Problem) -> UInt32 {
    guard let mask = UInt32(text, radix: 8), mask <= 0o777 else {
      throw wrong("'umask' is an octal number, such as 022")
    }
    return mask
  }

  static func wrong(_ detail: String) -> Problem {
    Problem(422, "Unprocessable Content", detail)
  }
}

extension NewTransfer {
  /// - Parameter request: a download to a file or a directory, an upload, or a program, with
  ///   absolute paths.
  /// - Throws: `not-yet-supported` for a stream or a step that is a closure, which do not leave
  ///   their process.
  package init(_ request: TransferRequest) throws(TransferError) {
    self.init()
    switch request.work {
    case .download(let download): try take(download)
    case .upload(let upload): take(upload)
    case .step(let step):
      guard case .program(let arguments, let directory) = step.action else {
        throw TransferError(
          .notYetSupported, "a closure cannot run in the daemon", advice: "use a program")
      }
      (run, workingDirectory, isIdempotent) = (arguments, directory, step.isIdempotent)
    }
    (identifier, group) = (request.identifier, request.group)
    priority = request.priority.name
    after = request.after.isEmpty ? nil : request.after.map(Dependency.init)
    (whenDependencyFails, reportsProgress) = (request.whenDependencyFails, request.reportsProgress)
    startsAt = request.startTime
  }

  mutating func take(_ retry: RetryPolicy) {
    retries = retry.retries
    maximumRetryTime = retry.maximumTimeWithoutProgress / .seconds(1)
  }

  private mutating func take(_ download: DownloadRequest) throws(TransferError) {
    switch download.destination {
    case .file(let path): file = path
    case .directory(let path): directory = path
    case .stream:
      throw TransferError(
        .notYetSupported, "the daemon cannot write to a stream", advice: "use a file")
    }
    url = download.url.text
    createsDirectories = download.createsDirectories
    (ifExists, durability) = (download.ifExists, download.durability)
    checksums = download.checksums.map(\.description)
    headers = download.headers.map { Field(name: $0.name, value: $0.value) }
    (connections, minimumSplit) = (download.connections, download.minimumSplit)
    (rateLimit, maximumSize) = (download.rateLimit, download.maximumSize)
    (decodesContent, usesSuggestedName) = (download.decodesContent, download.usesSuggestedName)
    (startOver, allowUnverified) = (download.startOver, download.allowUnverified)
    resumesFromOtherURL = download.resumesFromOtherURL
    allowInsecure = download.allowInsecure
    umask = download.creationMask.map { String($0, radix: 8) }
    trustedRedirectHosts = download.trustedRedirectHosts.sorted()
    take(download.retry)
  }
}

extension NewTransfer.Dependency {
  fileprivate init(_ dependency: TransferRequest.Dependency) {
    switch dependency {
    case .transfer(let id): self.id = id
    case .identifier(let name): identifier = name
    }
  }
}

extension TransferRequest.Priority {
  /// As options and JSON write it.
  package var name: String {
    switch self {
    case .background: "background"
    case .utility: "utility"
    case .default: "default"
    case .userInitiated: "user-initiated"
    case .userInteractive: "user-interactive"
    }
  }

  package init?(name: String) {
    guard let priority = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = priority
  }

  /// All of them, for messages.
  package static var names: String { allCases.reversed().map(\.name).joined(separator: ", ") }
}
