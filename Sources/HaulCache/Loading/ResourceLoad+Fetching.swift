import FoundationEssentials
import HaulCore
import NIOConcurrencyHelpers

/// From a request to its response.
extension ResourceLoad {
  /// Asks the server, with the conditions of the candidate.
  func fetch(replacing candidate: Candidate?) async throws(ResourceError) -> Loaded {
    let headers = HeaderFields(
      request.headers.fields + (candidate?.response.conditions ?? []))
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
      return try failed(error, candidate)
    }
    cache.counters.update { $0.bytesFetched += response.body.count }
    if Task.isCancelled { throw ResourceError(.cancelled) }
    let decision = CacheDecision(
      on: response, to: directives, beside: candidate?.response, candidate?.body)
    if case .removed = decision.copies { await forget() }
    switch (decision.answer, candidate) {
    case (.copy, var candidate?):
      candidate.response = decision.response
      guard let resource = try? resource(of: candidate) else {
        return try await fetch(replacing: nil)
      }
      cache.counters.update { $0.revalidations += 1 }
      return keep(resource, candidate.body, decision)
    case (.nothing, _): return try await fetch(replacing: nil)
    case _ where response.hasBody:
      let new = Candidate(response: decision.response, body: response.body)
      do throws(ResourceError) {
        return keep(try resource(of: new), new.body, decision)
      } catch {
        throw note(error, mayUseStale: false, wait: nil)
      }
    default:
      let error = TransferError(status: response.status, headers: response.headers, now: now)
      return try failed(error, candidate, wait: wait(after: response))
    }
  }

  /// Without a disk, no digests are computed.
  private func keep(
    _ resource: CachedResource, _ body: Data?, _ decision: CacheDecision
  ) -> Loaded {
    cache.state.withLockedValue { $0.negative.remove(key) }
    guard decision.copies == .replaced else { return Loaded(resource: resource) }
    remember(resource)
    let write = body.flatMap { body in
      cache.copies?.copy(
        body, of: request, resource.response, representation: resource.representation)
    }
    return Loaded(resource: resource, write: write)
  }

  /// Removes the copies of the resource from memory and disk.
  private func forget() async {
    if let known = cache.state.withLockedValue({ $0.knownKey(of: request) }) {
      cache.memory.removeValue(for: known)
    }
    await cache.copies?.remove(request)
  }

  /// Puts it into memory, unless it was removed while this load was under way.
  func remember(_ resource: CachedResource) {
    let place = ResourceKey(request, vary: resource.vary)
    cache.state.withLockedValue { state in
      _ = state.vary.insert(resource.vary, for: ResourceKey(request), cost: 1)
    }
    guard isStored else { return }
    cache.memory.insert(resource, for: place, cost: resource.cost + 512)
    if !isStored { cache.memory.removeValue(for: place) }
  }
}

/// Decoding: once for each body, unless the memory was purged.
extension ResourceLoad {
  /// The value of a candidate with its present header fields.
  func resource(of candidate: Candidate) throws(ResourceError) -> CachedResource {
    let (value, cost): (Value, Int)
    if let decoded = candidate.decoded {
      guard decoded.response != candidate.response else { return decoded }
      (value, cost) = (decoded.value(as: Value.self), decoded.cost)
    } else if let body = candidate.body {
      (value, cost) = try decode(body, of: candidate.response)
    } else {
      throw ResourceError(.notCached)
    }
    return CachedResource(
      value: value, response: candidate.response, freshness: freshness(of: candidate),
      request: request, representation: candidate.representation, cost: cost)
  }

  func freshness(of candidate: Candidate) -> Freshness {
    Freshness(candidate.response, defaults: cache.configuration.freshnessDefaults)
  }

  private func decode(
    _ body: Data, of response: StoredResponse
  ) throws(ResourceError) -> (Value, Int) {
    let resource = Resource(url: request.url, headers: response.headers, data: body)
    cache.counters.update { $0.decoded += 1 }
    do {
      let value = try cache.decoder(resource)
      return (value, cache.cost(value, resource))
    } catch {
      throw ResourceError(.undecodable(error))
    }
  }
}
