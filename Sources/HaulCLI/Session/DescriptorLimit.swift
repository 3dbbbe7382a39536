#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// How many files and connections the process may have open, and what that means for the work at once.
package enum DescriptorLimit {
  /// Raises the limit as far as the system lets anyone.
  /// - Returns: the limit then; nil when there is none, or none that can be told.
  static func raise() -> Int? {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return nil }
    let most = limit.rlim_max
    if limit.rlim_cur < most {
      limit.rlim_cur = most
      // Where that is refused the old one holds.
      if setrlimit(resource, &limit) != 0, getrlimit(resource, &limit) != 0 { return nil }
    }
    return Int(exactly: limit.rlim_cur)
  }

  #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #elseif canImport(Darwin)
    private static let resource = RLIMIT_NOFILE
  #endif

  /// Standard streams, event loops, certificates, and what libraries open now and then.
  private static let others = 64
  /// Of a transfer besides its connections: part file, journal, directory.
  private static let ofTransfer = 3
  /// Of a connection: the one, and another that is being opened in its place.
  private static let ofConnection = 2

  /// Lowers what is done at once so that it fits.
  /// - Parameter limit: as `raise` tells it.
  /// - Returns: a line that tells so; nil when nothing was lowered.
  package static func apply(_ limit: Int?, to limits: inout EngineLimits) -> String? {
    guard let limit else { return nil }
    let room = max(limit - others, ofTransfer + ofConnection)
    let active = min(limits.maximumActive, room / (ofTransfer + ofConnection))
    let connections = min(
      limits.connectionsInAll, max(1, (room - active * ofTransfer) / ofConnection))
    guard active < limits.maximumActive || connections < limits.connectionsInAll else {
      return nil
    }
    limits.maximumActive = active
    limits.connectionsInAll = connections
    return "haul: \(limit) open files are allowed; \(active) transfers and \(connections) "
      + "connections at once, no more; raise the limit with ulimit -n"
  }
}
