public import Logging

/// The bounds of a cache, and what it assumes where a server says nothing.
public struct ResourceCacheConfiguration: Sendable {
  /// The most that values in memory may cost; bytes, unless `cost` says otherwise.
  public var memoryLimit = 64 << 20
  /// The directory of the disk cache, for this user alone; nil for none. Several processes may use
  /// one directory.
  public var directory: String?
  /// The most bytes on disk.
  public var diskLimit: Int64 = 512 << 20
  /// How long a resource stays on disk without use.
  public var maximumDiskAge: Duration = .seconds(30 * 86_400)
  /// The most bytes of one resource; a larger one fails with `too-large`.
  public var maximumSize: Int64 = 32 << 20
  /// How long a response is fresh that has neither a lifetime nor `Last-Modified`. RFC 9111 leaves
  /// that to the cache; 0 asks the server each time.
  public var lifetimeWithoutHeaders: Duration = .seconds(300)
  /// How long a response may be used after it became stale when there is no connection, unless the
  /// server forbids that (RFC 9111, section 4.2.4).
  public var staleWhenDisconnected: Duration = .seconds(7 * 86_400)
  /// The wait after a failure; each further one of the same resource doubles it.
  public var firstRetryDelay: Duration = .seconds(1)
  /// The longest wait after a failure.
  public var maximumRetryDelay: Duration = .seconds(300)
  /// The wait after a refusal such as 404, unless the response says how long it is fresh.
  public var refusalLifetime: Duration = .seconds(60)
  /// The most failures that are remembered.
  public var maximumFailures = 10_000
  /// Whether memory is purged when the system runs short of it. Linux only.
  public var observesMemoryPressure = true
  /// Gets failures of the disk.
  public var logger = Logger(label: "haul.cache")

  /// The defaults: 64 MiB in memory, nothing on disk.
  public init() {}
}

extension ResourceCacheConfiguration {
  var freshnessDefaults: Freshness.Defaults {
    var defaults = Freshness.Defaults()
    defaults.lifetime = lifetimeWithoutHeaders / .seconds(1)
    return defaults
  }

  var waits: KnownFailures.Waits {
    KnownFailures.Waits(
      first: firstRetryDelay / .seconds(1), maximum: maximumRetryDelay / .seconds(1))
  }
}
