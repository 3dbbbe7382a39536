import FoundationEssentials
import HaulCore
import NIOConcurrencyHelpers

/// From a request to its response.
extension ResourceLoad {
  /// Asks the server, with the conditions of the candidate.
  func fetch(replacing candidate: Candidate?) async throws(ResourceError) -> Loaded {
    var headers = request.headers
    for condition in candidate?.response.conditions ?? [] {
      headers.append(condition.name, condition.value)
    }
    cache.counters.update { $0.fetches += 1 }
    let response: ResourceResponse
    do throws(TransferError) {
      response = try await cache.fetcher.fetch(
        ResourceFetchRequest(
          url: request.url, headers: headers, maximumSize: cache.configuration.maximumSize,
          priority: priority,
          begun: { [weak cache, flight] in
            guard let cache else { return }
            cache.perform { cache.apply(.begun(flight), of: nil, to: &$0) }
          }))
      if response.body.count > cache.configuration.maximumSize {
        throw TransferError(.tooLarge, "the resource is larger than the limit")
      }
    } catch {
      return try failed(error, candidate, wait: error.retryAfter)
    }
    cache.counters.update { $0.bytesFetched += response.body.count }
    if Task.isCancelled { throw ResourceError(.cancelled) }
    switch response.status {
    case 200, 203: return try store(response)
    case 304: return try await confirm(candidate, response)
    default:
      let error = TransferError(status: response.status, headers: response.headers, now: now)
      return try failed(error, candidate, wait: wait(after: response, error))
    }
  }

  /// A whole response.
  private func store(_ response: ResourceResponse) throws(ResourceError) -> Loaded {
    var headers = response.headers
    if response.wasRedirected {
      // The validators are those of another address.
      for name in ["ETag", "Last-Modified"] { headers.remove(name) }
      headers.append("Cache-Control", "no-cache")
    }
    let stored = StoredResponse(
      status: response.status, headers: headers, requestedAt: response.requestedAt,
      answeredAt: response.answeredAt)
    let representation = UInt64.random(in: .min ... .max)
    let resource: CachedResource
    do throws(ResourceError) {
      resource = try decode(response.body, of: stored, representation: representation)
    } catch {
      throw note(error, mayUseStale: false, wait: nil)
    }
    return keep(resource, response.body)
  }

  /// The candidate with the fields of a 304. If the 304 speaks of another version, the resource is
  /// fetched whole (RFC 9111, section 4.3.4).
  private func confirm(
    _ candidate: Candidate?, _ response: ResourceResponse
  ) async throws(ResourceError) -> Loaded {
    guard var candidate else {
      let error = TransferError(.protocolViolation, "the server answered 304 without a condition")
      return try failed(error, nil, wait: nil)
    }
    guard candidate.response.isConfirmed(by: response.headers) else {
      return try await fetch(replacing: nil)
    }
    candidate.response = candidate.response.refreshed(
      by: response.headers, requestedAt: response.requestedAt, answeredAt: response.answeredAt)
    candidate.freshness = Freshness(
      candidate.response, defaults: cache.configuration.freshnessDefaults)
    guard let resource = try? self.resource(of: candidate) else {
      return try await fetch(replacing: nil)
    }
    cache.counters.update { $0.revalidations += 1 }
    return keep(resource, candidate.body)
  }

  /// Keeps a resource, or removes its older versions if it may not be kept.
  private func keep(_ resource: CachedResource, _ body: Data?) -> Loaded {
    cache.state.withLockedValue { $0.negative.remove(key) }
    guard resource.response.isStorable(to: directives) else {
      forgetOlder()
      let write = cache.disk == nil ? nil : PendingWrite.remove(cache.diskKey(of: request))
      return Loaded(resource: resource, write: write)
    }
    remember(resource)
    // Without a disk, no digests are computed.
    guard cache.disk != nil, let body else { return Loaded(resource: resource, write: nil) }
    return Loaded(resource: resource, write: .store(blob(resource, body)))
  }

  private func forgetOlder() {
    if let known = cache.state.withLockedValue({ $0.knownKey(of: request) }) {
      cache.memory.removeValue(for: known)
    }
  }

  private func blob(_ resource: CachedResource, _ body: Data) -> Blob {
    var names: [String] = []
    if case .names(let found) = resource.vary { names = found }
    return Blob(
      head: BlobHead(
        resource: cache.diskKey(of: request), address: request.url.withoutQueryValues,
        addressDigest: ResourceKey.digest(of: request.url), vary: names,
        selection: ResourceKey.digest(of: resource.selection),
        representation: resource.representation, response: resource.response),
      body: body)
  }

  /// Puts it into memory, unless it was removed while this load was under way.
  func remember(_ resource: CachedResource) {
    let place = ResourceKey(request, vary: resource.vary)
    let isStored = cache.state.withLockedValue { state in
      _ = state.vary.insert(resource.vary, for: ResourceKey(request), cost: 1)
      return state.flights[flight]?.isStored ?? false
    }
    guard isStored else { return }
    cache.memory.insert(resource, for: place, cost: resource.cost + 512)
    let isStillStored = cache.state.withLockedValue { $0.flights[flight]?.isStored ?? false }
    if !isStillStored { cache.memory.removeValue(for: place) }
  }
}

/// Decoding: once for each body, unless the memory was purged.
extension ResourceLoad {
  /// The value of a candidate with its present header fields.
  func resource(of candidate: Candidate) throws(ResourceError) -> CachedResource {
    if let decoded = candidate.decoded {
      guard decoded.response != candidate.response else { return decoded }
      return CachedResource(
        value: decoded.value(as: Value.self), response: candidate.response,
        freshness: candidate.freshness,
        request: request, representation: candidate.representation, cost: decoded.cost)
    }
    guard let body = candidate.body else { throw ResourceError(.notCached) }
    return try decode(body, of: candidate.response, representation: candidate.representation)
  }

  private func decode(
    _ body: Data, of response: StoredResponse, representation: UInt64
  ) throws(ResourceError) -> CachedResource {
    let resource = Resource(url: request.url, headers: response.headers, data: body)
    cache.counters.update { $0.decoded += 1 }
    do {
      let value = try cache.decoder(resource)
      return CachedResource(
        value: value, response: response,
        freshness: Freshness(response, defaults: cache.configuration.freshnessDefaults),
        request: request, representation: representation, cost: cache.cost(value, resource))
    } catch {
      throw ResourceError(.undecodable(error))
    }
  }
}
