package import HaulCache
import HaulCore

/// What `haul cache` does to the cache.
package enum CachePlan: Hashable, Sendable {
  case list(json: Bool)
  case size(json: Bool)
  case purge(CacheInventory.Selection, quiet: Bool)
}

extension CachePlan {
  /// - Parameter wallSeconds: the present time, in seconds since 1970.
  /// - Throws: when selections contradict each other or an address is wrong.
  init(_ command: CachePurgeCommand, at wallSeconds: Double) throws(UsageError) {
    let selection: CacheInventory.Selection
    switch (command.urls.isEmpty, command.unusedFor, command.downTo) {
    case (true, nil, nil): selection = .all
    case (false, nil, nil):
      var addresses: Set<ResourceURL> = []
      for text in command.urls { addresses.insert(try AddressArgument.url(text)) }
      selection = .addresses(addresses)
    case (true, let time?, nil): selection = .unused(since: wallSeconds - Units.seconds(time))
    case (true, nil, let bytes?): selection = .allBut(bytes: bytes)
    default: throw UsageError("give URLs, --unused-for or --down-to, and only one of them")
    }
    self = .purge(selection, quiet: command.quiet)
  }
}

/// The cache of this user.
enum UserCache {
  /// What says nothing of its freshness is confirmed before each use: a published file is right.
  static let configuration = {
    var configuration = ResourceCacheConfiguration()
    configuration.lifetimeWithoutHeaders = .zero
    return configuration
  }()

  /// `haul` in `XDG_CACHE_HOME`, or in `~/.cache`. As in the XDG specification, a relative path is
  /// ignored.
  static func directory(_ environment: [String: String]) throws(TransferError) -> String {
    if let base = environment["XDG_CACHE_HOME"], base.isAbsolutePath { return "\(base)/haul" }
    guard let home = environment["HOME"], home.isAbsolutePath else {
      throw TransferError(
        .io, "neither XDG_CACHE_HOME nor HOME is an absolute path", advice: "set one of them")
    }
    return "\(home)/.cache/haul"
  }
}
