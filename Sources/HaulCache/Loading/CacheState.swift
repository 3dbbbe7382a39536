import HaulCore

/// A request that may share a load: its resource and what its headers allow.
struct FlightKey: Hashable, Sendable {
  let resource: ResourceKey
  let directives: CacheControl
  let isReload: Bool
}

/// A failure that is repeated for a while.
struct KnownFailure: Sendable {
  let error: ResourceError
  /// Whether a stale value was used in its place.
  let mayUseStale: Bool
}

typealias KnownFailures = NegativeCache<ResourceKey, KnownFailure>

/// A load under way.
struct Flight: Sendable {
  /// The address and the credentials.
  let resource: ResourceKey
  let priority: FetchPriority
  var task: Task<Void, Never>?
  var outcome: Result<CachedResource, ResourceError>?
  /// Whether its result may be stored; a removal while it was under way forbids that.
  var isStored = true
}

/// What the lock of a cache protects.
struct CacheState: Sendable {
  typealias Outcome = Result<CachedResource, ResourceError>
  typealias Waiter = CheckedContinuation<Outcome, Never>

  var table = FlightTable<FlightKey>()
  var flights: [UInt64: Flight] = [:]
  var waiters: [UInt64: Waiter] = [:]
  /// Those who also want a stale copy while the server is asked.
  var observers: [UInt64: @Sendable (CachedResource) -> Void] = [:]
  /// The fields by which responses vary, by the key without them.
  var vary = S3FIFO<ResourceKey, VaryNames>(costLimit: 10_000)
  var negative: KnownFailures
  private var lastSubscriber: UInt64 = 0

  init(maximumFailures: Int) { negative = NegativeCache(limit: maximumFailures) }

  mutating func newSubscriber() -> UInt64 {
    lastSubscriber += 1
    return lastSubscriber
  }

  /// The key of a request, with the fields by which its response is known to vary; nil if nothing
  /// is known.
  mutating func knownKey(of request: ResourceRequest) -> ResourceKey? {
    let key = ResourceKey(request)
    if request.headers.isEmpty { return key }
    return vary.value(for: key).map { ResourceKey(request, vary: $0) }
  }

  /// The key under which equal requests share a load. While nothing is known of `Vary`, they must
  /// be equal in every field.
  mutating func flightKey(of request: ResourceRequest) -> FlightKey {
    FlightKey(
      resource: knownKey(of: request) ?? ResourceKey(request, vary: .everything),
      directives: request.directives, isReload: request.policy == .reload)
  }
}

extension CacheState {
  /// Whether a request may join a flight. Once the result is known, it counts as stored: it must
  /// still be fresh, and not removed.
  func sharesResult(of id: UInt64, with key: FlightKey, at now: Double) -> Bool {
    guard let flight = flights[id], let outcome = flight.outcome else { return true }
    guard flight.isStored, case .success(let resource) = outcome,
      resource.response.isStorable(to: key.directives)
    else { return false }
    return resource.freshness.use(at: now, for: key.directives) == .fresh
  }
}

/// What a change of the state asks for, to be done without the lock.
enum CacheAction: Sendable {
  case resume(CacheState.Waiter, CacheState.Outcome)
  case cancel(Task<Void, Never>)
  case prioritize(FetchPriority)
  case offer(CachedResource, to: @Sendable (CachedResource) -> Void)

  func perform() {
    switch self {
    case .resume(let waiter, let outcome): waiter.resume(returning: outcome)
    case .cancel(let task): task.cancel()
    case .prioritize(let priority): priority.notify()
    case .offer(let resource, let observer): observer(resource)
    }
  }
}
