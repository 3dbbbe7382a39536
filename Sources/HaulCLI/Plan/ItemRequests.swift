import HaulCore

/// Makes the download of each address from the options of `haul get`, except for its destination.
struct ItemRequests {
  /// What all of them have; made once, because lists are long.
  private let common: DownloadRequest
  private let checksums: [Checksum]
  private let headers: [HeaderArgument.Field]
  private let cookies: CookieField
  private var authorization: Authorization

  /// - Parameter url: any of the addresses.
  init(
    _ command: GetCommand, _ sources: CommandSources, from url: ResourceURL
  ) throws(UsageError) {
    checksums = try GetPlan.checksums(command.content.checksums)
    headers = try command.requests.fields(sources)
    cookies = try CookieField(command.credentials, headers: headers, sources)
    authorization = try Authorization(command.credentials, headers: headers, sources)
    var common = DownloadRequest(url: url, to: .stream)
    command.destination.apply(to: &common)
    command.content.apply(to: &common)
    command.ranges.apply(to: &common)
    command.requests.apply(to: &common)
    self.common = common
  }

  /// For the user, before the start: what of the files of credentials was left out.
  var notes: [String] { cookies.notes + authorization.notes }

  /// - Throws: for credentials that this address cannot have.
  mutating func request(for item: GetItem) throws(UsageError) -> DownloadRequest {
    var request = common
    request.url = item.url
    request.checksums = item.checksums.isEmpty ? checksums : item.checksums
    let fields = item.fields(with: headers)
    if !fields.isEmpty { request.headers = fields }
    request.rateLimit = item.rateLimit
    // A store gets its key, and no login of another server.
    if let found = item.object {
      request.take(found.object, found.store.credentials, found.store.keySource)
    } else {
      try authorization.apply(to: &request)
      try cookies.apply(to: &request)
    }
    return request
  }

  /// Gives a run the credentials for further hosts.
  func addCredentials(to options: inout ManagerOptions) {
    options.take(authorization, cookies)
  }
}
