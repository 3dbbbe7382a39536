public import FoundationEssentials
public import HaulCore
import NIOConcurrencyHelpers

/// The network of a cache, as a port: fetches one resource, whole.
///
/// Haul's own sends requests through its engine. A conformance does this:
///
/// - **Request.** Send a GET of `request.url` with `request.headers`, which may hold conditions
///   such as `If-None-Match`. Follow redirects, without credentials for another origin.
/// - **Response.** Return every final status with its header fields, also 304 and 404. Return the
///   body of a 200 or 203 only if it is complete.
/// - **Limits.** Throw `too-large` for a body of more than `request.maximumSize` bytes.
/// - **Errors.** Throw after a bounded number of attempts.
/// - **Begin.** Call `request.noteBegun()` when the request is sent. From then on the fetch
///   finishes for the cache, though nobody waits for it any more; without that it is cancelled.
/// - **Cancellation.** If the task is cancelled, close the connection and soon throw `cancelled`.
public protocol ResourceFetcher: Sendable {
  /// Fetches a resource.
  /// - Throws: `TransferError`.
  func fetch(_ request: ResourceFetchRequest) async throws(TransferError) -> ResourceResponse
}

/// What to fetch.
public struct ResourceFetchRequest: Sendable {
  /// The address, with its credentials. Print only its description.
  public let url: ResourceURL
  /// All fields to send, with the conditions.
  public let headers: HeaderFields
  /// The most bytes of a body.
  public let maximumSize: Int64
  /// The priority, which may change while the request waits.
  public let priority: FetchPriority
  private let begun: @Sendable () -> Void

  /// A request. Caches create them, and tests of a fetcher.
  public init(
    url: ResourceURL, headers: HeaderFields = HeaderFields(), maximumSize: Int64 = .max,
    priority: FetchPriority = FetchPriority(.default), begun: @escaping @Sendable () -> Void = {}
  ) {
    self.begun = begun
    self.url = url
    self.headers = headers
    self.maximumSize = maximumSize
    self.priority = priority
  }

  /// Says that the request is sent.
  public func noteBegun() { begun() }
}

/// A complete response.
public struct ResourceResponse: Sendable {
  /// The status code.
  public var status: Int
  /// The header fields, as received.
  public var headers: HeaderFields
  /// The whole body of a 200 or 203; otherwise it may be empty.
  public var body: Data
  /// Wall time when the request was sent, in seconds since 1970.
  public var requestedAt: Double
  /// Wall time when the head arrived, in seconds since 1970.
  public var answeredAt: Double
  /// Whether it comes from the target of a redirect. Such a response is not used again without a
  /// fetch, because the redirect may lead elsewhere by then.
  public var wasRedirected: Bool

  /// A response.
  public init(
    status: Int, headers: HeaderFields = HeaderFields(), body: Data = Data(), requestedAt: Double,
    answeredAt: Double, wasRedirected: Bool = false
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.requestedAt = requestedAt
    self.answeredAt = answeredAt
    self.wasRedirected = wasRedirected
  }

  /// Whether its body is the resource.
  var hasBody: Bool { status == 200 || status == 203 }
}

/// The priority of a fetch: the highest of its requests.
public final class FetchPriority: Sendable {
  /// Called with a priority.
  public typealias Observer = @Sendable (TransferRequest.Priority) -> Void

  private struct State {
    var value: TransferRequest.Priority
    var notified: TransferRequest.Priority?
    var observer: Observer?
    var isNotifying = false

    /// What to tell whom; nil if there is nothing, or another thread does it.
    mutating func next() -> (Observer, TransferRequest.Priority)? {
      guard !isNotifying, let observer, notified != value else { return nil }
      (isNotifying, notified) = (true, value)
      return (observer, value)
    }
  }

  private let state: NIOLockedValueBox<State>

  /// A priority that starts with this value.
  public init(_ value: TransferRequest.Priority) {
    state = NIOLockedValueBox(State(value: value))
  }

  /// The present value.
  public var value: TransferRequest.Priority { state.withLockedValue { $0.value } }

  /// Calls `observer` with the present value, and after every change, in order. There is one
  /// observer: a second one replaces the first.
  public func observe(_ observer: @escaping Observer) {
    state.withLockedValue { ($0.observer, $0.notified) = (observer, nil) }
    notify()
  }

  /// Changes the value; `notify` tells the observer.
  func set(_ value: TransferRequest.Priority) { state.withLockedValue { $0.value = value } }

  /// Tells the observer the value, unless it knows it. Call it without a lock.
  func notify() {
    while let (observer, value) = state.withLockedValue({ $0.next() }) {
      observer(value)
      state.withLockedValue { $0.isNotifying = false }
    }
  }
}
