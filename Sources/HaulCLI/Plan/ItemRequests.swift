import HaulCache
import HaulCore

/// Makes the download of each address from the options of `haul get`, except for its destination.
struct ItemRequests: Sendable {
  /// What all of them have; made once, because lists are long.
  private let common: DownloadRequest
  private let checksums: [Checksum]
  private let lists: ChecksumLists
  private let headers: [HeaderArgument.Field]
  private let cookies: CookieField
  private var authorization: Authorization
  private var servers: ServerCredentials
  /// Those of rows, read once.
  private var rows: [ItemCredentials: OwnCredentials] = [:]
  private let sources: CommandSources
  /// What patterns stand for.
  private let expansion: [String]

  /// - Parameter url: any of the addresses.
  init(
    _ command: GetCommand, _ sources: CommandSources, from url: ResourceURL
  ) throws(UsageError) {
    checksums = try GetPlan.checksums(command.content.checksums)
    lists = try ChecksumLists(command, sources)
    expansion = sources.expanded.notes
    servers = ServerCredentials(sources)
    self.sources = sources
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

  /// For the user, before the start: what patterns stand for, what lists of digests are worth, and
  /// what of the files of credentials was left out.
  var notes: [String] { expansion + lists.notes + cookies.notes + authorization.notes }

  /// The same, once all requests are made: which servers get nothing of the sections.
  var serverNotes: [String] { servers.notes }

  /// - Throws: for credentials that this address cannot have.
  mutating func request(for item: GetItem) throws(UsageError) -> DownloadRequest {
    var request = common
    request.url = item.url
    request.checksums =
      item.checksums.isEmpty ? try lists.checksums(of: item, and: checksums) : item.checksums
    let isTrusted =
      item.server?.mayPassCredentials(to: item.url, trusting: common.trustedRedirectHosts) ?? true
    let fields = item.fields(with: isTrusted ? headers : [])
    if !fields.isEmpty { request.headers = HeaderFields(fields) }
    request.rateLimit = item.rateLimit == 0 ? nil : item.rateLimit
    // A store gets its key, and no login of another server.
    if let found = item.object {
      request.take(found.object, found.store.credentials, found.store.keySource)
    } else {
      try applyOwn(of: item, to: &request)
      try servers.apply(to: &request)
      try authorization.apply(to: &request, isTrusted: isTrusted)
      try cookies.apply(to: &request, isTrusted: isTrusted)
    }
    return request
  }

  private mutating func applyOwn(
    of item: GetItem, to request: inout DownloadRequest
  ) throws(UsageError) {
    guard let named = item.credentials else { return }
    do throws(UsageError) {
      if rows[named] == nil { rows[named] = try named.read(sources) }
      try rows[named]?.apply(to: &request)
    } catch {
      throw UsageError("\(item.listEntry.map { "\($0): " } ?? "")\(error.message)")
    }
  }

  /// Gives a run the credentials for further hosts.
  func addCredentials(to options: inout ManagerOptions) {
    options.take(authorization, cookies)
  }
}

/// Makes the download of each address to a file of this machine.
struct ItemDownloads: ItemTransfers {
  private(set) var requests: ItemRequests
  var placement: Placement
  private let destination: DestinationOptions
  private let usesCache: Bool
  /// That of most lines of a long list.
  private var common: (DownloadRequest.Destination, createsDirectories: Bool)?

  /// - Parameter url: any of the addresses.
  init(
    _ command: GetCommand, _ sources: CommandSources, from url: ResourceURL
  ) throws(UsageError) {
    requests = try ItemRequests(command, sources, from: url)
    placement = try Placement(command.destination, sources)
    (destination, usesCache) = (command.destination, command.cache ?? false)
  }

  mutating func download(for item: GetItem) throws(UsageError) -> DownloadRequest {
    if common == nil, !item.hasOwnDestination { common = try item.destination(destination) }
    var request = try requests.request(for: item)
    if item.hasOwnDestination {
      (request.destination, request.createsDirectories) = try item.destination(destination)
    } else if let directory = placement.directory(of: item) {
      request.destination = .directory(directory)
    } else if let common {
      (request.destination, request.createsDirectories) = common
    }
    if destination.keepPaths == true, case .directory(let base) = request.destination {
      let path = try item.directories().joined(separator: "/")
      request.destination = .directory(path.isEmpty ? base : base.appendingPath(path))
    }
    // What the cache keeps must come over one connection.
    if usesCache { request.minimumSplit = UserCache.configuration.maximumSize }
    return request
  }

  mutating func transfer(
    for item: GetItem, number: Int
  ) throws(UsageError) -> TransferRequest {
    TransferRequest(.download(try download(for: item)))
  }
}
