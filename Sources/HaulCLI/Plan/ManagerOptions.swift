package import HaulCore
package import HaulKit
package import Logging

/// Settings of all transfers of a run. They can be compared; `TransferManager.Configuration`
/// cannot, because it has a logger.
package struct ManagerOptions: Hashable, Sendable {
  private static let defaults = TransferManager.Configuration()

  package var maximumActive = defaults.maximumActive
  package var maximumActivePerHost = defaults.maximumActivePerHost ?? defaults.maximumActive
  /// Files at once of hosts for which lists have a limit, in place of `maximumActivePerHost`.
  package var maximumActiveOfHosts: [String: Int] = [:]
  package var connectionsPerHost = defaults.connectionsPerHost
  package var maximumConnections = defaults.maximumConnections
  /// Bytes per second.
  package var rateLimit: Int64?
  /// When the daemon runs transfers; empty for always.
  package var schedule: [Schedule.Window] = []
  package var connectTimeout = defaults.connectTimeout
  package var idleTimeout = defaults.idleTimeout
  package var certificateAuthorities: String?
  package var clientCertificate: ClientCertificate?
  package var minimumTLS = defaults.minimumTLS
  package var httpVersion = defaults.httpVersion
  /// Replaces the environment's; empty for none.
  package var proxy: String?
  /// Replaces the environment's.
  package var noProxy: String?
  package var addressFamily: AddressFamily?
  package var localAddress: String?
  package var addresses: [String: String] = [:]
  package var userAgent = defaults.userAgent
  /// What the user has given for hosts that servers name.
  package var session: RunSession?
  /// As in the manager's configuration.
  package var recordPlace: UploadRequest?
  /// Whether a remote source goes to a store on a condition, or not at all.
  package var requiresConditions = false

  package init() {}

  /// The limits that options ask for. An option also raises the wider limits of connections that
  /// would make it ineffective.
  init(
    _ options: LimitOptions, connections: Int? = nil, _ network: ConnectionOptions
  ) throws(UsageError) {
    self.init()
    if let active = options.maximumActive { maximumActive = active }
    if let perHost = options.maximumPerHost { maximumActivePerHost = perHost }
    connectionsPerHost = max(connectionsPerHost, connections ?? 0, options.maximumPerHost ?? 0)
    maximumConnections = max(maximumConnections, connectionsPerHost, maximumActive)
    rateLimit = options.rateLimit == 0 ? nil : options.rateLimit
    try network.apply(to: &self)
  }

  /// Takes the limits that lists have for hosts. `--max-per-host` lowers them.
  mutating func limitHosts(by items: [GetItem], _ options: LimitOptions) {
    for item in items {
      guard let limit = item.maximumPerHost else { continue }
      let (host, given) = (item.url.origin.authority, options.maximumPerHost ?? limit)
      maximumActiveOfHosts[host] = min(limit, given, maximumActiveOfHosts[host] ?? limit)
    }
    connectionsPerHost = max(connectionsPerHost, maximumActiveOfHosts.values.max() ?? 0)
    maximumConnections = max(maximumConnections, connectionsPerHost)
  }

  /// What the credential options have for further hosts.
  mutating func take(_ authorization: Authorization, _ cookies: CookieField) {
    var session = RunSession()
    authorization.add(to: &session)
    cookies.add(to: &session)
    if session != RunSession() { self.session = session }
  }

  /// The manager's configuration; without a logger it logs nothing.
  /// - Parameter isAttended: whether a person waits for the transfers.
  /// - Throws: when the given proxy cannot be read.
  package func configuration(
    logger: Logger?, environment: [String: String] = [:], isAttended: Bool = true
  ) throws(TransferError) -> TransferManager.Configuration {
    var configuration = TransferManager.Configuration()
    configuration.recordPlace = recordPlace
    configuration.requiresConditions = requiresConditions
    configuration.maximumActive = maximumActive
    configuration.maximumActivePerHost = maximumActivePerHost
    configuration.maximumActiveOfHosts = maximumActiveOfHosts
    configuration.connectionsPerHost = connectionsPerHost
    configuration.maximumConnections = maximumConnections
    configuration.rateLimit = rateLimit
    if !schedule.isEmpty { configuration.schedule = Schedule(schedule) }
    configuration.connectTimeout = connectTimeout
    configuration.idleTimeout = idleTimeout
    configuration.certificateAuthorities = certificateAuthorities
    configuration.clientCertificate = clientCertificate
    configuration.minimumTLS = minimumTLS
    configuration.httpVersion = httpVersion
    configuration.proxies = try ProxyRules(
      environment: environment, given: proxy, exceptions: noProxy)
    configuration.addressFamily = addressFamily
    configuration.localAddress = localAddress
    configuration.addresses = addresses
    configuration.userAgent = userAgent
    if let logger { configuration.logger = logger }
    configuration.waitsForCredentials = !isAttended
    configuration.bearerField = SecretFile.bearerField
    guard isAttended else { return configuration }
    // A person waits for a run in the foreground, so failures are reported at once.
    configuration.isAttended = true
    configuration.session = session ?? RunSession()
    configuration.waitsForDisk = false
    configuration.waitsForNetwork = false
    // The only subscriber reads all the time, and must get every event of a long list.
    configuration.eventLogLimit = .max
    return configuration
  }
}
