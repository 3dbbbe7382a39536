import FoundationEssentials
package import HaulCore
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

  private let network: CacheNetwork
  private let copies: StoredCopies
  private let resources: Resources
  private let configuration: ResourceCacheConfiguration
  private let userAgent: String
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
    network = try CacheNetwork(transfers, transport)
    var configuration = configuration
    configuration.logger = transfers.logger
    copies = StoredCopies(
      configuration, at: directory, over: ResponseRoute(transfers), clock: clock,
      io: BlockingIO(), givesUpWhenInUse: true)
    (self.configuration, self.resources) = (configuration, resources)
    userAgent = transfers.userAgent
  }

  /// Opens the directory. If that fails, everything is fetched from the server.
  /// - Returns: why it cannot be used.
  package func open() async -> TransferError? {
    do throws(TransferError) {
      try await copies.change { disk, now throws(TransferError) in try disk.open(at: now) }
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
    await copies.noteUses()
    await network.shutdown()
  }

  package func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    // Other addresses are targets of redirects, and other ranges belong to large files.
    guard let checksums = resources[request.url], !request.isAdditional,
      request.decodingLimit == nil
    else { return try await network.base.fetch(request).noting(use) }
    guard request.signing == nil else {
      log("not stored: each request to the store has a signature of its own", request)
      return try await network.base.fetch(request).noting(use)
    }
    let resource = resource(request)
    let copy = await copies.find(resource, with: checksums)
    if let copy, !request.needsConfirmation, isFresh(copy, for: resource) {
      return copy.response(to: request, .hit)
    }
    guard !resource.directives.onlyIfCached else {
      throw TransferError(
        .httpStatus, "the cache has no copy that may be used without the server", status: 504)
    }
    guard request.firstByte ?? 0 == 0 else {
      log("not stored: it resumes an earlier part", request)
      return try await network.base.fetch(request).noting(use)
    }
    guard copies.isAvailable else { return try await network.base.fetch(request).noting(use) }
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

  /// The most bytes of one resource.
  private var maximumSize: Int64 { min(configuration.maximumSize, configuration.diskLimit) }

  private func isFresh(_ copy: Blob, for resource: ResourceRequest) -> Bool {
    var directives = resource.directives
    // A file that is published should be right.
    directives.maxStale = nil
    let freshness = Freshness(copy.head.response, defaults: configuration.freshnessDefaults)
    return freshness.use(at: clock.wallSeconds, for: directives) == .fresh
  }

  private func fetch(
    _ request: FetchRequest, of resource: ResourceRequest, replacing copy: Blob?
  ) async throws -> FetchResponse {
    var sent = request
    sent.headers = HeaderFields(
      request.headers.fields + (copy?.head.response.conditions ?? []))
    let (response, whole) = try await network.fetch(sent)
    let passed = response.noting(.miss)
    // One byte that was asked for says nothing about a copy.
    guard request.lastByte == nil || whole.status != 200 else { return passed }
    let decision = CacheDecision(
      on: whole, to: resource.directives, beside: copy?.head.response, copy?.body,
      obstacle: response.head.obstacle(toStoring: maximumSize))
    if case .removed(let reason) = decision.copies {
      log("not stored: \(reason)", request)
      await copies.remove(resource)
    }
    switch (decision.answer, copy) {
    case (.copy, let copy?):
      let confirmed = copies.copy(
        copy.body, of: resource, decision.response, representation: copy.head.representation)
      if decision.copies == .replaced { await copies.keep(confirmed) }
      return confirmed.response(to: request, .revalidated)
    case (.nothing, _): return try await fetch(request, of: resource, replacing: nil)
    default:
      guard decision.copies == .replaced else { return passed }
      // The body may break off.
      if copy != nil { await copies.remove(resource) }
      return storing(passed, of: resource, as: decision.response, for: request)
    }
  }

  /// The response, which is stored when its last byte has arrived.
  private func storing(
    _ passed: FetchResponse, of resource: ResourceRequest, as stored: StoredResponse,
    for request: FetchRequest
  ) -> FetchResponse {
    let take = { @Sendable [self] (data: Data?) async in
      guard let data else { return log("not stored: it is too large", request) }
      await copies.keep(copies.copy(data, of: resource, stored))
    }
    let body = CollectingBody(
      base: passed.body, length: passed.head.wholeLength, limit: maximumSize, take: take)
    return FetchResponse(head: passed.head, body: body, executor: passed.executor)
  }

  private func log(_ text: String, _ request: FetchRequest) {
    configuration.logger.debug("cache: \(text): \(request.url.redacted)")
  }
}

extension FetchResponse {
  fileprivate func noting(_ use: CacheUse) -> FetchResponse {
    var head = head
    head.cacheUse = use
    return FetchResponse(head: head, body: body, executor: executor, collected: collected)
  }
}
