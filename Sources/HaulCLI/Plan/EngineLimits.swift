package import HaulKit
package import Logging

/// What all transfers of a run share; compared as a value, which `Configuration` with its logger
/// cannot be.
package struct EngineLimits: Hashable, Sendable {
  package var maximumActive: Int
  package var maximumActivePerHost: Int
  package var connectionsPerHost: Int
  package var connectionsInAll: Int
  /// Bytes per second.
  package var rateLimit: Int64?
  package var connectTimeout: Duration
  package var idleTimeout: Duration
  package var certificateAuthorities: String?

  /// The library's defaults.
  package init() {
    let defaults = Configuration()
    maximumActive = defaults.maximumActive
    maximumActivePerHost = defaults.maximumActivePerHost
    connectionsPerHost = defaults.connectionsPerHost
    connectionsInAll = defaults.connectionsInAll
    rateLimit = defaults.rateLimit
    connectTimeout = defaults.connectTimeout
    idleTimeout = defaults.idleTimeout
    certificateAuthorities = defaults.certificateAuthorities
  }

  /// The manager's configuration; without a logger it stays silent.
  package func configuration(logger: Logger?) -> Configuration {
    var configuration = Configuration()
    configuration.maximumActive = maximumActive
    configuration.maximumActivePerHost = maximumActivePerHost
    configuration.connectionsPerHost = connectionsPerHost
    configuration.connectionsInAll = connectionsInAll
    configuration.rateLimit = rateLimit
    configuration.connectTimeout = connectTimeout
    configuration.idleTimeout = idleTimeout
    configuration.certificateAuthorities = certificateAuthorities
    if let logger { configuration.logger = logger }
    return configuration
  }
}
