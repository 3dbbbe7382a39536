import HaulCache
import HaulCore

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
