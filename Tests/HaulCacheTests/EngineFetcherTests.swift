import Foundation
import HaulCache
import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// The cache over the real engine.
@Suite struct EngineFetcherTests {
  /// Serves one file with an entity tag, over a transport without a network.
  private struct FileTransport: Transport {
    let seen = NIOLockedValueBox<[HeaderFields]>([])

    func fetch(_ request: FetchRequest) async throws -> FetchResponse {
      seen.withLockedValue { $0.append(request.headersToSend) }
      let headers: HeaderFields = ["ETag": "\"1\"", "Cache-Control": "max-age=0"]
      if request.url.path == "/missing" {
        return FetchResponse(head: ResponseHead(status: 404, url: request.url), bytes: [UInt8]())
      }
      if request.headersToSend["If-None-Match"] == "\"1\"" {
        let head = ResponseHead(status: 304, headers: headers, url: request.url)
        return FetchResponse(head: head, bytes: [UInt8]())
      }
      let head = ResponseHead(status: 200, headers: headers, url: request.url)
      return FetchResponse(head: head, bytes: Array(request.url.path.utf8))
    }
  }

  private func cache(
    _ transport: (any Transport)? = nil,
    _ change: (inout ResourceCacheConfiguration) -> Void = { _ in }
  ) throws -> ResourceCache<Data> {
    var configuration = ResourceCacheConfiguration()
    configuration.observesMemoryPressure = false
    change(&configuration)
    return try ResourceCache(configuration, transport: transport) { $0.data }
  }

  @Test func `fetches and confirms over a transport of the caller's, without a network`()
    async throws
  {
    let transport = FileTransport()
    let cache = try cache(transport)
    let url = try ResourceURL("http://example.com/a")
    #expect(try await cache.value(for: url) == Data("/a".utf8))
    #expect(try await cache.value(for: url) == Data("/a".utf8))
    #expect(cache.metrics.revalidations == 1)
    #expect(cache.metrics.decoded == 1)
    let seen = transport.seen.withLockedValue { $0 }
    #expect(seen.map { $0["If-None-Match"] } == [nil, "\"1\""])
    let missing = try ResourceURL("http://example.com/missing")
    let error = await #expect(throws: ResourceError.self) { try await cache.value(for: missing) }
    #expect(error?.transferError?.code == .notFound)
    #expect(error?.retryAt != nil)
  }

  @Test func `a body that breaks off is resumed`() async throws {
    var file = FaultScript.Resource(
      "/a.png", length: 300_000, faults: [.close(after: 100_000, times: 1)])
    file.entityTag = "\"1\""
    try await withFaultServer([file]) { server in
      let cache = try self.cache()
      let data = try await cache.value(for: try server.resourceURL("/a.png"))
      #expect(Array(data) == file.content)
      #expect(server.requests.map(\.range) == ["bytes=0-", "bytes=100000-299999"])
    }
  }

  /// Sends five of ten bytes, or none after a redirect, then the rest.
  private struct BreakingTransport: Transport {
    let target: ResourceURL?
    let seen = NIOLockedValueBox<[FetchRequest]>([])

    func fetch(_ request: FetchRequest) async throws -> FetchResponse {
      let isFirst = seen.withLockedValue { seen in
        seen.append(request)
        return seen.count == 1
      }
      let first = Int(request.firstByte ?? 0)
      let headers: HeaderFields = [
        "Content-Range": "bytes \(first)-9/10", "Content-Length": "\(10 - first)",
        "ETag": "\"1\"", "Cache-Control": "max-age=60",
      ]
      let isRedirected = isFirst && target != nil
      let head = ResponseHead(
        status: 206, headers: headers, url: isRedirected ? target ?? request.url : request.url,
        wasRedirected: isRedirected)
      let body = Array("0123456789".utf8.dropFirst(first))
      guard isFirst else { return FetchResponse(head: head, bytes: body) }
      return FetchResponse(
        head: head,
        body: AsyncThrowingStream<any ByteChunk, any Error> { stream in
          if target == nil { stream.yield(Array(body.prefix(5))) }
          stream.finish(
            throwing: TransferError(.connectionLost, "the connection broke", isRetryable: true))
        })
    }
  }

  @Test(arguments: [nil, "http://example.com/b"])
  func `conditions go to the address itself, with its first byte`(target: String?) async throws {
    let transport = BreakingTransport(target: try target.map { try ResourceURL($0) })
    let fetcher = try EngineFetcher(TransferManager.Configuration(), transport: transport)
    let response = try await fetcher.fetch(
      ResourceFetchRequest(
        url: try ResourceURL("http://example.com/a"), headers: ["If-None-Match": "\"0\""]))
    #expect(response.status == 200)
    #expect(response.body == Data("0123456789".utf8))
    #expect(response.headers["Content-Length"] == "10")
    #expect(response.headers["Content-Range"] == nil)
    #expect(!response.wasRedirected)
    let seen = transport.seen.withLockedValue { $0 }
    // Without a byte of the target, the address itself is asked again.
    let second = target == nil ? nil : "\"0\""
    #expect(seen.map { $0.headersToSend["If-None-Match"] } == ["\"0\"", second])
  }

  @Test func `a busy server is asked again within the fetch`() async throws {
    let file = FaultScript.Resource("/a.png", length: 1000, faults: [.status(503, times: 1)])
    try await withFaultServer([file]) { server in
      let cache = try self.cache()
      let data = try await cache.value(for: try server.resourceURL("/a.png"))
      #expect(Array(data) == file.content)
      #expect(server.requests.map(\.status) == [503, 206])
    }
  }

  @Test func `a thousand who ask cause one request to the server`() async throws {
    let file = FaultScript.Resource("/a.png", length: 10_000)
    try await withFaultServer([file]) { server in
      let cache = try self.cache()
      let url = try server.resourceURL("/a.png")
      await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<1000 {
          group.addTask { (try? await cache.value(for: url)).map(Array.init) == file.content }
        }
        for await isRight in group { #expect(isRight) }
      }
      #expect(server.requests.count == 1)
    }
  }

  @Test func `a body above the limit is refused`() async throws {
    let file = FaultScript.Resource("/a.png", length: 10_000)
    try await withFaultServer([file]) { server in
      let cache = try self.cache { $0.maximumSize = 5000 }
      let url = try server.resourceURL("/a.png")
      let error = await #expect(throws: ResourceError.self) { try await cache.value(for: url) }
      #expect(error?.transferError?.code == .tooLarge)
    }
  }
}
