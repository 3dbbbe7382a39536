import NIOConcurrencyHelpers
import Synchronization

/// What a cache has done since it was created.
public struct ResourceCacheMetrics: Sendable, Hashable {
  /// Values from memory.
  public var memoryHits = 0
  /// Values decoded from disk, without asking the server.
  public var diskHits = 0
  /// Requests that were sent.
  public var fetches = 0
  /// Requests that the server answered with "not modified".
  public var revalidations = 0
  /// Values that were used though they were stale.
  public var stale = 0
  /// Requests that joined one that was under way.
  public var coalesced = 0
  /// Failures that were repeated without asking the server.
  public var negativeHits = 0
  /// Loads that failed.
  public var failures = 0
  /// Bodies that were decoded.
  public var decoded = 0
  /// Bytes of bodies that were received.
  public var bytesFetched = 0
  /// Bytes of bodies that were read from disk.
  public var bytesRead = 0
  /// Bytes of bodies that were written to disk.
  public var bytesWritten = 0
  /// Reads and writes of the disk that failed. The value comes from the network then.
  public var diskFailures = 0

  /// All zero.
  public init() {}
}

/// The counts of one cache. Memory hits have no lock, because there are most of them.
final class CacheCounters: Sendable {
  private let memoryHits = Atomic(0)
  private let others = NIOLockedValueBox(ResourceCacheMetrics())

  func hitMemory() { memoryHits.wrappingAdd(1, ordering: .relaxed) }

  func update(_ change: (inout ResourceCacheMetrics) -> Void) { others.withLockedValue(change) }

  var metrics: ResourceCacheMetrics {
    var metrics = others.withLockedValue { $0 }
    metrics.memoryHits = memoryHits.load(ordering: .relaxed)
    return metrics
  }
}
