public import HaulCore

/// What a reused row or view holds: it shows one resource at a time, and never another's value.
///
/// Each `load` begins a generation and voids the one before. A generation delivers a placeholder,
/// then a value or a failure, each at most once, on the main actor. A value in memory is delivered
/// at once, without a placeholder. After `cancel`, or when the slot is released, nothing is
/// delivered. The slot keeps the closure only until its last delivery, and keeps no cache alive.
@MainActor
public final class ResourceSlot<Value: Sendable> {
  /// What to show.
  public enum Content: Sendable {
    case placeholder
    case value(Value)
    case failure(ResourceError)
  }

  private var state = SlotState()
  private var deliver: ((Content) -> Void)?
  private var task: Task<Void, Never>?

  /// An empty slot.
  public init() {}

  deinit { task?.cancel() }

  /// Whether a value is awaited.
  public var isLoading: Bool { state.isWaiting }

  /// Shows the resource of an address in place of what was shown; for what is no http or https
  /// address, it delivers the failure at once.
  public func load(
    _ url: some ResourceAddress, from cache: ResourceCache<Value>,
    priority: TransferRequest.Priority = .default,
    deliver: @escaping @MainActor (Content) -> Void
  ) {
    do throws(ResourceError) {
      let request = try ResourceRequest(address: url)
      load(request, from: cache, priority: priority, deliver: deliver)
    } catch {
      cancel()
      deliver(.failure(error))
    }
  }

  /// Shows a resource in place of what was shown. `deliver` is called on the main actor; hold the
  /// row weakly in it.
  ///
  /// A stale copy that may be used without the server is shown at once, and what the server says
  /// after that. A fetch whose request was sent finishes for the cache, also if the slot then shows
  /// another resource.
  public func load(
    _ request: ResourceRequest, from cache: ResourceCache<Value>,
    priority: TransferRequest.Priority = .default,
    deliver: @escaping @MainActor (Content) -> Void
  ) {
    stop()
    let value = cache.cachedValue(for: request)
    let generation = state.begin(isLoaded: value != nil)
    if let value { return deliver(.value(value)) }
    self.deliver = deliver
    let stale = cache.staleResource(for: request)?.value(as: Value.self)
    let show = { @Sendable [weak self] (value: Value) in
      _ = Task { @MainActor in self?.show(generation, value) }
    }
    task = Task { @MainActor [weak self] in
      let content: Content
      do throws(ResourceError) {
        content = .value(
          try await cache.value(
            for: request, priority: priority, onStale: stale == nil ? show : nil))
      } catch {
        content = .failure(error)
      }
      self?.finish(generation, content)
    }
    deliver(stale.map { .value($0) } ?? .placeholder)
  }

  /// Stops showing a resource. Nothing more is delivered.
  public func cancel() {
    stop()
    state.cancel()
  }

  private func stop() {
    task?.cancel()
    (task, deliver) = (nil, nil)
  }

  /// Shows a stale value; the validated one follows.
  private func show(_ generation: SlotState.Generation, _ value: Value) {
    if state.awaits(generation) { deliver?(.value(value)) }
  }

  private func finish(_ generation: SlotState.Generation, _ content: Content) {
    guard state.accepts(generation), let deliver else { return }
    stop()
    deliver(content)
  }
}
