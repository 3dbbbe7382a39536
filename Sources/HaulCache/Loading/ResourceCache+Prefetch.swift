public import HaulCore

extension ResourceCache {
  /// Loads resources before they are asked for. A request for one of them joins its load, and
  /// raises its priority. Failures are noted, and otherwise ignored.
  /// - Returns: a handle to cancel those that have not been loaded. Releasing it cancels nothing.
  @discardableResult
  public func prefetch(
    _ requests: [ResourceRequest], priority: TransferRequest.Priority = .background
  ) -> ResourcePrefetch {
    let ids = requests.compactMap { request -> UInt64? in
      guard usableResource(for: request) == nil, isValid(request) else { return nil }
      return join(request, priority: priority)
    }
    return ResourcePrefetch { [weak self] in
      for id in ids { self?.leave(id) }
    }
  }

  /// Loads resources before they are asked for; as for requests.
  /// What is no http or https address is left out.
  @discardableResult
  public func prefetch(
    _ urls: [some ResourceAddress], priority: TransferRequest.Priority = .background
  ) -> ResourcePrefetch {
    prefetch(
      urls.compactMap { try? ResourceRequest($0.checked()) }, priority: priority)
  }

  private func isValid(_ request: ResourceRequest) -> Bool {
    do { try request.check() } catch { return false }
    return true
  }
}

/// Loads that nobody waits for yet.
public struct ResourcePrefetch: Sendable {
  private let leave: @Sendable () -> Void

  init(leave: @escaping @Sendable () -> Void) { self.leave = leave }

  /// Cancels those that have not been loaded, unless someone else waits for them.
  public func cancel() { leave() }
}
