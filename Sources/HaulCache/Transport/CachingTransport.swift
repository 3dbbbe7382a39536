import FoundationEssentials
package import HaulCore
import HaulHTTP
package import HaulKit
import Logging

/// A transport with a private cache before it (RFC 9111), for whole downloads: a fresh copy on disk
/// is the answer, a stale one is validated, and a new answer is stored while it is received.
///
/// It never answers with a stale copy: without the server's confirmation, the server's own answer
/// or error counts. Bodies pass through; only one of at most `maximumSize` bytes is also collected.
package final class CachingTransport: Transport {
  /// The addresses that use the cache, with the digests that a copy must have.
  package typealias Resources = [ResourceURL: [Checksum]]

  private let base: any Transport
  /// Haul's own; nil for a caller's, which stays theirs.
  private let client: HTTPTransport?
  private let copies: StoredCopies
  private let resources: Resources
  private let userAgent: String
  private let logger: Logger
  private let clock = SystemClock()

  /// - Parameters:
  ///   - configuration: the bounds of the disk.
  ///   - directory: that of the cache.
  ///   - transfers: what connections need, and the logger.
  ///   - transport: sends the requests in place of Haul's own.
  /// - Throws: `tls` when a file of certificates or keys cannot be read or holds none.
  package init(
    _ configuration: ResourceCacheConfiguration, at directory: String,
    _ transfers: TransferManager.Configuration, for resources: Resources,
    transport: (any Transport)? = nil
  ) throws(TransferError) {
    if let transport {
      (base, client) = (transport, nil)
    } else {
      let own = try HTTPTransport(HTTPTransport.Settings(transfers))
      (base, client) = (own, own)
    }
    copies = StoredCopies(
      configuration, at: directory, over: ResponseRoute(transfers), logger: transfers.logger)
    self.resources = resources
    userAgent = transfers.userAgent
    logger = transfers.logger
  }

  /// Opens the directory. If that fails, everything is fetched from the server.
  /// - Returns: why it cannot be used.
  package func open() async -> TransferError? {
    do throws(TransferError) {
      try await copies.open(at: clock.wallSeconds)
      return nil
    } catch {
      bypassCache()
      return error
    }
  }

  /// From now on everything is fetched from the server.
  package func bypassCache() { copies.giveUp() }

  /// Notes which copies were used, and closes the connections of Haul's own transport.
  package func shutdown() async {
    await copies.close(at: clock.wallSeconds)
    await client?.shutdown()
  }

  package func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    // Other addresses are targets of redirects, and other ranges belong to large files.
    guard let checksums = resources[request.url], !request.isAdditional,
      request.decodingLimit == nil
    else { return try await base.fetch(request).noting(use) }
    let resource = resource(request)
    let copy = await copies.find(resource, with: checksums, at: clock.wallSeconds)
    if let copy, !request.needsConfirmation,
      copies.isFresh(copy, for: resource, at: clock.wallSeconds)
    {
      return copy.response(to: request, .hit)
    }
    guard !resource.directives.onlyIfCached else {
      throw TransferError(
        .httpStatus, "the cache has no copy that may be used without the server", status: 504)
    }
    guard request.firstByte ?? 0 == 0 else {
      log("not stored: it resumes an earlier part", request)
      return try await base.fetch(request).noting(use)
    }
    guard copies.isAvailable else { return try await base.fetch(request).noting(use) }
    return try await fetch(request, of: resource, replacing: copy)
  }

  /// That of an answer of the server.
  private var use: CacheUse { copies.isAvailable ? .miss : .unavailable }

  /// The request as a cache sees it, with the field that the HTTP client would add.
  private func resource(_ request: FetchRequest) -> ResourceRequest {
    var headers = request.headers
    if headers["User-Agent"] == nil { headers.append("User-Agent", userAgent) }
    return ResourceRequest(request.url, headers: headers)
  }

  private func fetch(
    _ request: FetchRequest, of resource: ResourceRequest, replacing copy: Blob?
  ) async throws -> FetchResponse {
    var sent = request
    for condition in copy?.head.response.conditions ?? [] {
      sent.headers.append(condition.name, condition.value)
    }
    let requestedAt = clock.wallSeconds
    let response = try await base.fetch(sent)
    let answer = ServerAnswer(
      request: request, resource: resource, head: response.head, requestedAt: requestedAt,
      answeredAt: clock.wallSeconds)
    guard let copy, answer.head.status == 304 else {
      if copy != nil, answer.outdatesCopies {
        await copies.remove(resource, at: clock.wallSeconds)
      }
      return await storing(response, answer)
    }
    let confirmed = Blob(
      head: copy.head.confirmed(
        by: copy.head.response.refreshed(
          by: answer.head.headers, requestedAt: requestedAt, answeredAt: answer.answeredAt),
        to: resource), body: copy.body)
    // A 304 of another address, or of another version, confirms nothing (section 4.3.4).
    guard !answer.head.wasRedirected, copy.head.response.isConfirmed(by: answer.head.headers),
      confirmed.hasStatedDigests
    else {
      await copies.remove(resource, at: clock.wallSeconds)
      return try await fetch(request, of: resource, replacing: nil)
    }
    await copies.keep(confirmed, of: resource, at: clock.wallSeconds)
    return confirmed.response(to: request, .revalidated)
  }

  /// The response, which is stored when its last byte has arrived, if it may be.
  private func storing(_ response: FetchResponse, _ answer: ServerAnswer) async -> FetchResponse {
    let passed = response.noting(.miss)
    guard answer.isNew else { return passed }
    let head: BlobHead
    do throws(NotStored) {
      head = try answer.head(
        as: copies.key(of: answer.resource), atMost: copies.maximumSize)
    } catch {
      log("not stored: \(error.reason)", answer.request)
      // What was stored before is outdated.
      await copies.remove(answer.resource, at: clock.wallSeconds)
      return passed
    }
    let take = { @Sendable [self] (data: Data?) async in
      guard let data else { return log("not stored: it is too large", answer.request) }
      let copy = Blob(head: head, body: data)
      await copies.keep(copy, of: answer.resource, at: clock.wallSeconds)
    }
    let body = CollectingBody(
      base: response.body, length: answer.length, limit: copies.maximumSize, take: take)
    return FetchResponse(head: passed.head, body: body, executor: response.executor)
  }

  private func log(_ text: String, _ request: FetchRequest) {
    logger.debug("cache: \(text): \(request.url.redacted)")
  }
}

extension FetchResponse {
  fileprivate func noting(_ use: CacheUse) -> FetchResponse {
    var head = head
    head.cacheUse = use
    return FetchResponse(head: head, body: body, executor: executor, collected: collected)
  }
}
