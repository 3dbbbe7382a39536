import FoundationEssentials
package import HaulCore

/// Everything `haul get` is going to do: made from the options without touching anything.
package struct GetPlan: Hashable, Sendable {
  package var requests: [TransferRequest]
  package var limits: EngineLimits
  package var output: OutputOptions
}

extension GetPlan {
  /// - Throws: when options contradict each other or a value is wrong; nothing was started.
  init(
    _ command: GetCommand, reading read: (String) throws(UsageError) -> String
  ) throws(UsageError) {
    try Self.checkUse(of: command)
    var urls: [ResourceURL] = []
    for text in command.urls { urls.append(try AddressArgument.url(text)) }
    let destination = try Self.destination(command.place)
    let checksum = try command.content.checksum.map(Self.checksum)
    var headers: [HeaderArgument.Field] = []
    for text in command.network.headers {
      headers += try HeaderArgument.fields(text, reading: read)
    }
    requests = urls.map { url in
      var request = TransferRequest(url: url, to: destination)
      request.checksum = checksum
      request.headers = headers
      command.place.apply(to: &request)
      command.content.apply(to: &request)
      command.speed.apply(to: &request)
      command.network.apply(to: &request)
      return request
    }
    limits = Self.limits(command)
    output = command.output.values
  }

  private static func checkUse(of command: GetCommand) throws(UsageError) {
    guard !command.urls.isEmpty else { throw UsageError("give at least one URL") }
    let several = command.urls.count > 1
    if several, command.place.output != nil {
      throw UsageError("-o names one file, but there are several URLs; use -d")
    }
    if several, command.content.checksum != nil {
      throw UsageError("--checksum is the digest of one file, but there are several URLs")
    }
    let output = command.output
    if output.quiet, output.verbose { throw UsageError("-q and -v contradict each other") }
    if output.quiet, output.progress == .bar || output.progress == .plain {
      throw UsageError("-q and --progress \(output.progress.rawValue) contradict each other")
    }
  }

  private static func destination(
    _ place: PlaceOptions
  ) throws(UsageError) -> TransferRequest.Destination {
    if let directory = place.directory, directory.isEmpty || directory.contains("\0") {
      throw UsageError("-d: the name of the directory is empty or has a NUL")
    }
    guard let output = place.output else { return .directory(place.directory ?? ".") }
    if output == "-" { throw UsageError("-o -: standard output is not yet supported") }
    guard !output.isEmpty, !output.contains("\0") else {
      throw UsageError("-o: the file's name is empty or has a NUL")
    }
    let name = output.split(separator: "/").last
    guard !output.hasSuffix("/"), let name, name != ".", name != ".." else {
      throw UsageError("-o \(output): that is a directory; use -d")
    }
    guard let directory = place.directory else { return .file(output) }
    guard !output.hasPrefix("/") else {
      throw UsageError("-o with an absolute path and -d contradict each other")
    }
    return .file(directory.hasSuffix("/") ? directory + output : "\(directory)/\(output)")
  }

  static func checksum(_ text: String) throws(UsageError) -> Checksum {
    if let checksum = Checksum(text) { return checksum }
    let names = Checksum.Algorithm.allCases.map(\.rawValue).joined(separator: ", ")
    let name = text.prefix { $0 != "=" }.lowercased()
    guard text.contains("="), let algorithm = Checksum.Algorithm(rawValue: name) else {
      throw UsageError("--checksum is written ALG=HEX, where ALG is one of \(names)")
    }
    throw UsageError(
      "--checksum: \(name) needs \(algorithm.byteCount * 2) hexadecimal digits")
  }

  /// The user's word on connections raises the limits above it: an option is never without effect.
  private static func limits(_ command: GetCommand) -> EngineLimits {
    let speed = command.speed
    var limits = EngineLimits()
    if let active = speed.maximumActive { limits.maximumActive = active }
    if let perHost = speed.maximumPerHost { limits.maximumActivePerHost = perHost }
    limits.connectionsPerHost = max(
      limits.connectionsPerHost, speed.connections ?? 0, speed.maximumPerHost ?? 0)
    limits.connectionsInAll = max(
      limits.connectionsInAll, limits.connectionsPerHost, limits.maximumActive)
    limits.rateLimit = speed.rateLimit
    command.network.apply(to: &limits)
    return limits
  }
}
