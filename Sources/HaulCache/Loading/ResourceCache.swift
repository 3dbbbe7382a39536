public import HaulCore
package import HaulKit
import NIOConcurrencyHelpers
import Synchronization

/// Loads resources by their addresses, decodes each once, and keeps the values in memory and the
/// bytes on disk as HTTP allows (RFC 9111).
///
/// Requests for the same resource share one fetch, however many ask. `cachedValue(for:)` reads
/// memory on the calling thread; `value(for:)` loads what is not there.
public final class ResourceCache<Value: Sendable>: Sendable {
  /// Makes a value of a complete response. It runs off the main actor.
  public typealias Decoder = @Sendable (Resource) throws -> Value
  /// The cost of a value in memory; by default the number of bytes that it was decoded from.
  public typealias Cost = @Sendable (Value, Resource) -> Int

  /// The bounds.
  public let configuration: ResourceCacheConfiguration
  let fetcher: any ResourceFetcher
  let decoder: Decoder
  let cost: Cost
  let memory: MemoryCache<ResourceKey, CachedResource>
  let copies: StoredCopies?
  let clock: any TransferClock
  let counters = CacheCounters()
  /// Bytes that wait to be written to disk.
  let unwritten = Atomic(0)
  let state: NIOLockedValueBox<CacheState>
  private let pressure: Task<Void, Never>?

  /// A cache over a fetcher of your own: a mock, or another network. It opens the directory with
  /// the first request.
  public convenience init(
    _ configuration: ResourceCacheConfiguration = ResourceCacheConfiguration(),
    fetcher: any ResourceFetcher, cost: @escaping Cost = { $1.data.count },
    decode: @escaping Decoder
  ) {
    self.init(
      configuration, fetcher: fetcher, clock: SystemClock(), io: BlockingIO(), cost: cost,
      decode: decode)
  }

  package init(
    _ configuration: ResourceCacheConfiguration, fetcher: any ResourceFetcher,
    clock: any TransferClock, io: BlockingIO,
    route: ResponseRoute = ResponseRoute(TransferManager.Configuration()),
    cost: @escaping Cost = { $1.data.count }, decode: @escaping Decoder
  ) {
    self.configuration = configuration
    self.fetcher = fetcher
    (decoder, self.cost, self.clock) = (decode, cost, clock)
    memory = MemoryCache(costLimit: configuration.memoryLimit)
    copies = configuration.directory.map { [counters] directory in
      StoredCopies(
        configuration, at: directory, over: route, clock: clock, io: io, counters: counters)
    }
    state = NIOLockedValueBox(CacheState(maximumFailures: configuration.maximumFailures))
    let purge = { @Sendable [memory] (fraction: Double) in memory.trim(toFraction: fraction) }
    pressure =
      configuration.observesMemoryPressure
      ? MemoryPressureMonitor.start(clock: clock, purge) : nil
  }

  deinit { pressure?.cancel() }

  /// What it has done since it was created.
  public var metrics: ResourceCacheMetrics { counters.metrics }
  /// What the values in memory cost.
  public var memoryCost: Int { memory.cost }
}

extension ResourceCache {
  /// The value in memory, if it may be used without the server. It never blocks or reads the disk.
  ///
  /// If the value may only be used while it is validated, that begins in the background.
  /// - Complexity: O(1).
  public func cachedValue(for url: some ResourceAddress) -> Value? {
    (try? url.checked()).flatMap { cachedValue(for: ResourceRequest($0)) }
  }

  /// The value in memory, if it may be used without the server; as for an address.
  /// - Complexity: O(header fields).
  public func cachedValue(for request: ResourceRequest) -> Value? {
    usableResource(for: request)?.value(as: Value.self)
  }

  /// The value, from memory, disk or the server. Requests for the same resource share one fetch,
  /// whose priority is the highest of theirs.
  /// - Throws: `ResourceError`. If the waiting task is cancelled, it throws `cancelled` at once;
  ///   the other requests get the value.
  public func value(
    for url: some ResourceAddress, priority: TransferRequest.Priority = .default
  ) async throws(ResourceError) -> Value {
    try await value(for: ResourceRequest(address: url), priority: priority)
  }

  /// The value, from memory, disk or the server; as for an address.
  /// - Throws: `ResourceError`.
  public func value(
    for request: ResourceRequest, priority: TransferRequest.Priority = .default
  ) async throws(ResourceError) -> Value {
    try await value(for: request, priority: priority, onStale: nil)
  }

  /// - Parameter onStale: called at most once, with a value that may be shown until then.
  func value(
    for request: ResourceRequest, priority: TransferRequest.Priority,
    onStale: (@Sendable (Value) -> Void)?
  ) async throws(ResourceError) -> Value {
    if let resource = usableResource(for: request) { return resource.value(as: Value.self) }
    do throws(TransferError) { try request.check() } catch {
      throw ResourceError(.transfer(error))
    }
    // If the response varies by a field that differs, this request needs a fetch of its own.
    for _ in 0..<4 {
      let offer = onStale.map { onStale in
        { @Sendable (stale: CachedResource) in
          if stale.fits(request) { onStale(stale.value(as: Value.self)) }
        }
      }
      let resource = try await resource(for: request, priority: priority, onStale: offer).get()
      if resource.fits(request) { return resource.value(as: Value.self) }
    }
    throw ResourceError(
      .transfer(TransferError(.protocolViolation, "the server's Vary changes with each response")))
  }
}
