import FoundationEssentials
import HaulCore
import NIOConcurrencyHelpers
import Synchronization

/// A stored response that may answer a request: from memory, with its value, or from disk, with its
/// body, or both.
struct Candidate: Sendable {
  var response: StoredResponse
  var representation: UInt64 = .random(in: .min ... .max)
  var decoded: CachedResource?
  var body: Data?
}

/// One load, from the disk to the server, for all its requests.
struct ResourceLoad<Value: Sendable>: Sendable {
  let cache: ResourceCache<Value>
  let flight: UInt64
  let request: ResourceRequest
  /// The key that is known before the response.
  let key: ResourceKey
  let directives: CacheControl
  let priority: FetchPriority

  var isReload: Bool { request.policy == .reload }
  var now: Double { cache.clock.wallSeconds }
  /// Whether its result may be stored: it was not removed while this load was under way.
  var isStored: Bool {
    cache.state.withLockedValue { $0.flights[flight]?.isStored ?? false }
  }

  /// Loads, delivers the result, and ends the flight when it is on disk.
  func run() async {
    var write: Blob?
    let outcome: CacheState.Outcome
    do throws(ResourceError) {
      let loaded = try await load()
      (outcome, write) = (.success(loaded.resource), loaded.write)
    } catch {
      outcome = .failure(error)
      if !error.isCancelled { cache.counters.update { $0.failures += 1 } }
    }
    // Until it is written, new requests join this flight: a purge of the memory costs no fetch.
    // If the disk is slow, its requests share the wait, so that unwritten bodies are bounded.
    if let write, cache.unwritten.load(ordering: .relaxed) > Self.maximumUnwritten {
      await store(write)
      publish(outcome)
    } else {
      publish(outcome)
      if let write { await store(write) }
    }
    cache.perform { state in
      defer { state.flights[flight] = nil }
      return cache.apply(.ended(flight), of: nil, to: &state)
    }
  }

  private func store(_ copy: Blob) async {
    cache.unwritten.wrappingAdd(copy.body.count, ordering: .relaxed)
    await cache.copies?.keep(copy) { isStored }
    cache.unwritten.wrappingSubtract(copy.body.count, ordering: .relaxed)
  }

  private func publish(_ outcome: CacheState.Outcome) {
    cache.perform { state in
      state.flights[flight]?.outcome = outcome
      return cache.apply(.published(flight), of: nil, to: &state)
    }
  }

  /// Bodies that may wait to be written, in bytes.
  private static var maximumUnwritten: Int { 64 << 20 }

  /// What was loaded, and what is still to be written.
  struct Loaded: Sendable {
    let resource: CachedResource
    var write: Blob?
  }

  private func load() async throws(ResourceError) -> Loaded {
    let remembered = cache.rememberedResource(for: request)
    // Another load may have ended since the request looked.
    if let remembered, let usable = use(Candidate(remembered)) { return usable }
    let failure = knownFailure()
    if let failure, !failure.reason.mayUseStale { throw repeated(failure) }
    let candidate = isReload ? nil : await newest(remembered)
    if let candidate, let usable = use(candidate) { return usable }
    if let failure {
      guard let candidate, let stale = stale(candidate, isDisconnected: true) else {
        throw repeated(failure)
      }
      return stale
    }
    if directives.onlyIfCached { throw ResourceError(.notCached) }
    if Task.isCancelled { throw ResourceError(.cancelled) }
    if let candidate, mayBeUsedStale(candidate, isDisconnected: true),
      let resource = try? resource(of: candidate)
    {
      remember(resource)
      cache.offer(resource, of: flight)
    }
    return try await fetch(replacing: candidate)
  }

  /// The candidate as the result, if it may be used without the server. One that cannot be decoded
  /// any more is fetched again.
  private func use(_ candidate: Candidate) -> Loaded? {
    guard !isReload else { return nil }
    let use = freshness(of: candidate).use(at: now, for: directives)
    guard use != .afterValidation, let resource = try? resource(of: candidate) else {
      return nil
    }
    if candidate.decoded == nil { cache.counters.update { $0.diskHits += 1 } }
    remember(resource)
    return Loaded(resource: resource)
  }

  /// A failure that still holds. A person who asks for a reload is not held up.
  private func knownFailure() -> KnownFailures.Failure? {
    guard request.policy == .standard || request.policy == .cacheOnly else { return nil }
    return cache.state.withLockedValue { $0.negative.failure(of: key, at: now) }
  }

  private func repeated(_ failure: KnownFailures.Failure) -> ResourceError {
    cache.counters.update { $0.negativeHits += 1 }
    return failure.reason.error.retrying(at: failure.retryAt)
  }

  /// The newer one of memory and disk; another process may have refreshed the disk.
  private func newest(_ remembered: CachedResource?) async -> Candidate? {
    let memory = remembered.map { Candidate($0) }
    guard !Task.isCancelled, let blob = await cache.copies?.find(request) else { return memory }
    var disk = Candidate(
      response: blob.head.response, representation: blob.head.representation, body: blob.body)
    guard let memory else { return disk }
    if disk.representation == memory.representation { disk.decoded = memory.decoded }
    if disk.response.answeredAt >= memory.response.answeredAt { return disk }
    var newer = memory
    if disk.representation == memory.representation { newer.body = disk.body }
    return newer
  }
}

extension Candidate {
  init(_ resource: CachedResource) {
    self.init(
      response: resource.response, representation: resource.representation, decoded: resource)
  }
}
