import HaulCore
import NIOConcurrencyHelpers

/// One load for all who ask.
extension ResourceCache {
  typealias Outcome = CacheState.Outcome

  /// The resource in memory, if it may be used without the server. One that is stale, but may be
  /// used for a while, begins to be validated.
  func usableResource(for request: ResourceRequest) -> CachedResource? {
    guard request.policy != .reload, let resource = rememberedResource(for: request) else {
      return nil
    }
    switch resource.freshness.use(at: clock.wallSeconds, for: request.directives) {
    case .fresh:
      counters.hitMemory()
      return resource
    case .staleWhileRevalidating:
      counters.update { $0.stale += 1 }
      beginRefresh(of: request)
      return resource
    case .afterValidation: return nil
    }
  }

  /// The resource in memory, fresh or not.
  func rememberedResource(for request: ResourceRequest) -> CachedResource? {
    let key: ResourceKey =
      request.headers.isEmpty
      ? ResourceKey(url: request.url, selection: [])
      : state.withLockedValue { $0.knownKey(of: request) } ?? ResourceKey(request)
    return memory.value(for: key).flatMap { $0.fits(request) ? $0 : nil }
  }

  /// Whether a copy may be shown though the server has not confirmed it.
  func mayBeUsedStale(
    _ freshness: Freshness, for directives: CacheControl, isDisconnected: Bool
  ) -> Bool {
    !directives.noCache
      && freshness.mayBeUsedStale(
        at: clock.wallSeconds, isDisconnected: isDisconnected,
        staleWhenDisconnected: configuration.staleWhenDisconnected / .seconds(1))
  }

  /// The resource in memory that may be shown while the server is asked.
  func staleResource(for request: ResourceRequest) -> CachedResource? {
    guard request.policy == .standard, let resource = rememberedResource(for: request),
      mayBeUsedStale(resource.freshness, for: request.directives, isDisconnected: true)
    else { return nil }
    return resource
  }

  /// Shows those who want it a stale copy; once each.
  func offer(_ resource: CachedResource, of flight: UInt64) {
    perform { state in
      state.table.subscribers(of: flight).compactMap { subscriber in
        state.observers.removeValue(forKey: subscriber).map { .offer(resource, to: $0) }
      }
    }
  }

  /// Joins the load of an equal request, or begins one, and waits for its result.
  /// - Parameter onStale: called at most once, with a copy that may be shown until then.
  func resource(
    for request: ResourceRequest, priority: TransferRequest.Priority,
    onStale: (@Sendable (CachedResource) -> Void)? = nil
  ) async -> Outcome {
    let id = state.withLockedValue { $0.newSubscriber() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        // The flag is set before the handler runs: one of both finds this subscriber.
        if Task.isCancelled { return waiter.resume(returning: .failure(Self.cancelled)) }
        perform { state in
          state.waiters[id] = waiter
          state.observers[id] = onStale
          return join(id, request, priority, &state)
        }
      }
    } onCancel: {
      leave(id)
    }
  }

  static var cancelled: ResourceError { ResourceError(.cancelled) }

  /// Joins without waiting, and returns the subscriber.
  func join(_ request: ResourceRequest, priority: TransferRequest.Priority) -> UInt64 {
    let id = state.withLockedValue { $0.newSubscriber() }
    perform { join(id, request, priority, &$0) }
    return id
  }

  private func join(
    _ id: UInt64, _ request: ResourceRequest, _ priority: TransferRequest.Priority,
    _ state: inout CacheState
  ) -> [CacheAction] {
    let key = state.flightKey(of: request)
    if let flight = state.table.flight(of: key),
      !state.sharesResult(of: flight, with: key, at: clock.wallSeconds)
    {
      _ = state.table.handle(.detached(flight))
    }
    return apply(.join(id, key, priority: priority.rawValue), of: request, to: &state)
  }

  /// Ends the wait of a subscriber; others are not affected.
  func leave(_ id: UInt64) {
    perform { state in
      var actions = apply(.leave(id), of: nil, to: &state)
      state.observers[id] = nil
      if let waiter = state.waiters.removeValue(forKey: id) {
        actions.append(.resume(waiter, .failure(Self.cancelled)))
      }
      return actions
    }
  }

  func setPriority(_ priority: TransferRequest.Priority, of id: UInt64) {
    perform { apply(.setPriority(id, priority.rawValue), of: nil, to: &$0) }
  }

  /// Validates a stale resource, unless that is under way or failed lately.
  private func beginRefresh(of request: ResourceRequest) {
    var request = request
    request.policy = .revalidate
    let (now, priority) = (clock.wallSeconds, TransferRequest.Priority.utility.rawValue)
    perform { state in
      let key = state.flightKey(of: request)
      guard state.table.flight(of: key) == nil,
        state.negative.failure(of: key.resource, at: now) == nil
      else { return [] }
      return apply(.join(state.newSubscriber(), key, priority: priority), of: request, to: &state)
    }
  }
}

extension ResourceCache {
  /// Changes the state, then does what that asks for, without the lock.
  func perform(_ change: (inout CacheState) -> [CacheAction]) {
    for action in state.withLockedValue(change) { action.perform() }
  }

  /// - Parameter request: that of a subscriber who joins.
  func apply(
    _ event: FlightTable<FlightKey>.Event, of request: ResourceRequest?,
    to state: inout CacheState
  ) -> [CacheAction] {
    let effects = state.table.handle(event)
    return effects.flatMap { effect -> [CacheAction] in
      switch effect {
      case .start(let id, let key, let priority):
        start(id, key, priority, request, &state)
        return []
      case .shared(let id, let isPublished):
        counters.update { $0.coalesced += 1 }
        guard isPublished, case .join(let subscriber, _, _) = event,
          let waiter = state.waiters.removeValue(forKey: subscriber),
          let outcome = state.flights[id]?.outcome
        else { return [] }
        state.observers[subscriber] = nil
        return [.resume(waiter, outcome)]
      case .setPriority(let id, let priority):
        guard let flight = state.flights[id]?.priority else { return [] }
        flight.set(TransferRequest.Priority(rawValue: priority) ?? .default)
        return [.prioritize(flight)]
      case .cancel(let id):
        return state.flights.removeValue(forKey: id)?.task.map { [.cancel($0)] } ?? []
      case .deliver(let subscribers):
        guard case .published(let id) = event, let outcome = state.flights[id]?.outcome else {
          return []
        }
        return subscribers.compactMap { subscriber in
          state.observers[subscriber] = nil
          return state.waiters.removeValue(forKey: subscriber).map { .resume($0, outcome) }
        }
      }
    }
  }

  private func start(
    _ id: UInt64, _ key: FlightKey, _ priority: Int, _ request: ResourceRequest?,
    _ state: inout CacheState
  ) {
    guard let request else { return }
    let priority = FetchPriority(TransferRequest.Priority(rawValue: priority) ?? .default)
    var flight = Flight(resource: ResourceKey(request), priority: priority)
    let load = ResourceLoad(
      cache: self, flight: id, request: request, key: key.resource, directives: key.directives,
      priority: priority)
    // Nothing of a load runs on the main actor, also if the caller is on it.
    flight.task = Task { @concurrent in await load.run() }
    state.flights[id] = flight
  }
}
