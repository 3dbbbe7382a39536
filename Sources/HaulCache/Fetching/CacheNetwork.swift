import HaulCore
import HaulHTTP
import HaulKit

/// The network below a cache.
struct CacheNetwork: Sendable {
  let base: any Transport
  /// Haul's own; nil for a caller's, which stays theirs.
  private let client: HTTPTransport?
  private let clock = SystemClock()

  /// - Parameter transport: sends the requests in place of Haul's own.
  /// - Throws: `tls` when a file of certificates or keys cannot be read or holds none.
  init(
    _ transfers: TransferManager.Configuration, _ transport: (any Transport)?
  ) throws(TransferError) {
    if let transport {
      (base, client) = (transport, nil)
    } else {
      let own = try HTTPTransport(HTTPTransport.Settings(transfers))
      (base, client) = (own, own)
    }
  }

  /// Closes the connections of Haul's own transport.
  func shutdown() async { await client?.shutdown() }

  /// Sends a request, and returns the response, and what it says of the whole resource.
  func fetch(_ request: FetchRequest) async throws -> (FetchResponse, ResourceResponse) {
    let isRedirected = request.redirectingOrigin != nil
    var sent = request
    // A 304 would say nothing about the rest of a body, or about the first address.
    if request.firstByte ?? 0 > 0 || isRedirected { sent.headers = sent.headers.withoutConditions }
    let requestedAt = clock.wallSeconds
    let response = try await base.fetch(sent)
    let head = response.head
    var headers = head.headers
    if head.status == 206 {
      headers.remove("Content-Range")
      headers.remove("Content-Length")
    }
    let whole = ResourceResponse(
      status: head.status == 206 ? 200 : head.status, headers: headers, requestedAt: requestedAt,
      answeredAt: clock.wallSeconds, wasRedirected: head.wasRedirected || isRedirected)
    return (response, whole)
  }
}

extension HeaderFields {
  /// A caller's fields have none, so these are the cache's.
  fileprivate var withoutConditions: HeaderFields {
    HeaderFields(fields.filter { !Self.isReserved($0.name) })
  }
}
