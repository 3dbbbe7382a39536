import Foundation
import HaulCache
import HaulCore
import HaulFiles
import HaulKit
import NIOConcurrencyHelpers
import Testing

/// The cache before a transport, without a network.
@Suite struct CachingTransportTests {
  /// Answers each request as a closure says, with a body in chunks.
  private struct ScriptedTransport: Transport {
    let seen = NIOLockedValueBox<[HeaderFields]>([])
    let answer: @Sendable (_ number: Int) -> (Int, HeaderFields, [String])

    func fetch(_ request: FetchRequest) async throws -> FetchResponse {
      let number = seen.withLockedValue { seen in
        seen.append(request.headersToSend)
        return seen.count
      }
      let (status, headers, chunks) = answer(number)
      return FetchResponse(
        head: ResponseHead(status: status, headers: headers, url: request.url),
        body: AsyncThrowingStream<any ByteChunk, any Error> { stream in
          for chunk in chunks { stream.yield(Array(chunk.utf8)) }
          stream.finish()
        })
    }
  }

  private let directory: TemporaryDirectory
  private let url: ResourceURL

  init() throws {
    directory = try TemporaryDirectory()
    url = try ResourceURL("http://example.com/a")
  }

  private func cache(_ transport: ScriptedTransport) throws -> CachingTransport {
    var configuration = ResourceCacheConfiguration()
    configuration.maximumSize = 10
    return try CachingTransport(
      configuration, at: directory.path, TransferManager.Configuration(), for: [url: []],
      transport: transport)
  }

  private func read(
    _ cache: CachingTransport, _ headers: HeaderFields = [:], chunks: Int = .max
  ) async throws -> (CacheUse?, String) {
    let response = try await cache.fetch(FetchRequest(url: url, headers: headers, firstByte: 0))
    var (text, count) = ("", 0)
    for try await chunk in response.body {
      text += chunk.withBytes { String(decoding: $0, as: UTF8.self) }
      count += 1
      if count == chunks { break }
    }
    return (response.head.cacheUse, text)
  }

  @Test(
    arguments: [
      (["Transfer-Encoding": "chunked"], ["hello", "you"], true),
      (["Transfer-Encoding": "chunked"], ["hello", "hello", "!"], false),
      (["Content-Length": "8"], ["hello", "you"], true),
      (["Content-Length": "11"], ["hello", "hello", "!"], false),
      ([:], ["hello", "you"], false),
    ] as [(HeaderFields, [String], Bool)])
  func `a body passes through whole, and is stored if it is complete and within the bound`(
    framing: HeaderFields, chunks: [String], isStored: Bool
  ) async throws {
    var headers = framing
    headers.append("Cache-Control", "max-age=86400")
    let cache = try cache(ScriptedTransport { [headers] _ in (200, headers, chunks) })
    #expect(try await read(cache) == (.miss, chunks.joined()))
    #expect(try await read(cache) == (isStored ? .hit : .miss, chunks.joined()))
  }

  @Test func `the answer to a signed request is not stored: no other one has its fields`()
    async throws
  {
    let headers: HeaderFields = ["Content-Length": "5", "Cache-Control": "max-age=86400"]
    let cache = try cache(ScriptedTransport { _ in (200, headers, ["hello"]) })
    var request = FetchRequest(url: url, firstByte: 0)
    let key = S3Credentials(accessKeyID: "id", secretAccessKey: "secret")
    request.signing = S3Login(.known(key), region: "r")
    for _ in 1...2 {
      #expect(try await cache.fetch(request).head.cacheUse == .miss)
    }
    #expect(try await read(cache) == (.miss, "hello"))
  }

  @Test func `a body that is not read to its end is not stored`() async throws {
    let headers: HeaderFields = ["Content-Length": "8", "Cache-Control": "max-age=86400"]
    let cache = try cache(ScriptedTransport { _ in (200, headers, ["hello", "you"]) })
    #expect(try await read(cache, chunks: 1) == (.miss, "hello"))
    #expect(try await read(cache) == (.miss, "helloyou"))
    #expect(try await read(cache) == (.hit, "helloyou"))
  }

  @Test func `the rest of a part comes from a fresh copy, if it is of the same version`()
    async throws
  {
    let headers: HeaderFields = [
      "Content-Length": "8", "Cache-Control": "max-age=86400", "ETag": "\"1\"",
    ]
    let cache = try cache(ScriptedTransport { _ in (200, headers, ["hello", "you"]) })
    _ = try await read(cache)
    func ask(_ tag: String?) async throws -> (Int, String?, String) {
      let request = FetchRequest(url: url, firstByte: 5, lastByte: 6, ifRange: tag)
      let response = try await cache.fetch(request)
      var text = ""
      for try await chunk in response.body {
        text += chunk.withBytes { String(decoding: $0, as: UTF8.self) }
      }
      return (response.head.status, response.head.headers["Content-Range"], text)
    }
    #expect(try await ask("\"1\"") == (206, "bytes 5-6/8", "yo"))
    #expect(try await ask(nil) == (206, "bytes 5-6/8", "yo"))
    #expect(try await ask("\"2\"") == (200, nil, "helloyou"))
  }

  @Test func `a part is not stored as the whole`() async throws {
    let headers: HeaderFields = [
      "Content-Range": "bytes 0-4/8", "Content-Length": "5", "Cache-Control": "max-age=86400",
    ]
    let cache = try cache(ScriptedTransport { _ in (206, headers, ["hello"]) })
    for _ in 1...2 { #expect(try await read(cache) == (.miss, "hello")) }
  }

  @Test func `a 304 of another version confirms nothing: the file is fetched whole`() async throws {
    let transport = ScriptedTransport { number in
      let tag = number == 1 ? "\"1\"" : "\"2\""
      let headers: HeaderFields = ["ETag": tag, "Cache-Control": "max-age=0"]
      if number == 2 { return (304, headers, []) }
      return (
        200, HeaderFields(headers.fields + [.init(name: "Content-Length", value: "1")]),
        [
          "\(number)"
        ]
      )
    }
    let cache = try cache(transport)
    #expect(try await read(cache) == (.miss, "1"))
    #expect(try await read(cache) == (.miss, "3"))
    let conditions = transport.seen.withLockedValue { $0.map { $0["If-None-Match"] } }
    #expect(conditions == [nil, "\"1\"", nil])
  }

  @Test func `a 304 to a request without a condition is no answer`() async throws {
    let transport = ScriptedTransport { number in
      number == 1
        ? (200, ["Content-Length": "1", "Cache-Control": "max-age=0"], ["1"]) : (304, [:], [])
    }
    let cache = try cache(transport)
    #expect(try await read(cache) == (.miss, "1"))
    let response = try await cache.fetch(FetchRequest(url: url, firstByte: 0))
    #expect((response.head.status, response.head.cacheUse) == (304, .miss))
  }

  @Test func `a 304 says by what the response varies`() async throws {
    let transport = ScriptedTransport { number in
      switch number {
      case 1: (200, ["Content-Length": "2", "Cache-Control": "no-cache", "ETag": "\"de\""], ["de"])
      case 2:
        (304, ["ETag": "\"de\"", "Cache-Control": "max-age=9999", "Vary": "Accept-Language"], [])
      default: (200, ["Content-Length": "2", "Vary": "Accept-Language"], ["en"])
      }
    }
    let cache = try cache(transport)
    #expect(try await read(cache, ["Accept-Language": "de"]) == (.miss, "de"))
    #expect(try await read(cache, ["Accept-Language": "de"]) == (.revalidated, "de"))
    #expect(try await read(cache, ["Accept-Language": "en"]) == (.miss, "en"))
    #expect(try await read(cache, ["Accept-Language": "de"]) == (.hit, "de"))
  }

  @Test(
    arguments: [
      (200, ["Content-Length": "0"]), (200, ["Content-Length": "5", "ETag": "\"2\""]), (404, [:]),
      (410, [:]),
    ] as [(Int, HeaderFields)])
  func `a newer answer that is not stored outdates the copy`(
    status: Int, headers: HeaderFields
  ) async throws {
    let fresh: HeaderFields = ["Content-Length": "1", "Cache-Control": "max-age=9999"]
    let transport = ScriptedTransport { number in
      number == 2 ? (status, headers, []) : (200, fresh, ["\(number)"])
    }
    let cache = try cache(transport)
    #expect(try await read(cache) == (.miss, "1"))
    // Its body is not read.
    _ = try await cache.fetch(
      FetchRequest(url: url, headers: ["Cache-Control": "no-cache"], firstByte: 0))
    #expect(try await read(cache) == (.miss, "3"))
  }

  @Test func `max-stale allows no stale copy`() async throws {
    let cache = try cache(
      ScriptedTransport { number in
        (200, ["Content-Length": "1", "Cache-Control": "max-age=0"], ["\(number)"])
      })
    #expect(try await read(cache) == (.miss, "1"))
    #expect(try await read(cache, ["Cache-Control": "max-stale"]) == (.miss, "2"))
  }

  @Test func `with only-if-cached, a missing or stale copy is an error without a request`()
    async throws
  {
    let transport = ScriptedTransport { _ in
      (200, ["Content-Length": "1", "Cache-Control": "max-age=0"], ["1"])
    }
    let cache = try cache(transport)
    _ = try await read(cache)
    let error = await #expect(throws: TransferError.self) {
      try await read(cache, ["Cache-Control": "only-if-cached"])
    }
    #expect(error?.status == 504)
    #expect(transport.seen.withLockedValue { $0.count } == 1)
  }

  @Test func `another User-Agent is another copy if the response varies by it`() async throws {
    let transport = ScriptedTransport { number in
      let headers: HeaderFields = [
        "Content-Length": "1", "Cache-Control": "max-age=86400", "Vary": "User-Agent",
      ]
      return (200, headers, ["\(number)"])
    }
    let cache = try cache(transport)
    #expect(try await read(cache) == (.miss, "1"))
    #expect(try await read(cache, ["User-Agent": "other"]) == (.miss, "2"))
    #expect(try await read(cache) == (.hit, "1"))
    #expect(try await read(cache, ["User-Agent": "other"]) == (.hit, "2"))
  }

  /// The digests of `helloyou`, and of other bytes.
  private static let right = "sha-256=:\(digest("helloyou")):"
  private static let wrong = "sha-256=:\(digest("other")):"

  private static func digest(_ text: String) -> String {
    var hash = IncrementalDigest([.sha256])
    Array(text.utf8).withUnsafeBytes { hash.update($0) }
    return Data(hash.checksums.first?.bytes ?? []).base64EncodedString()
  }

  @Test(
    arguments: [
      (["Repr-Digest": right], true), (["Repr-Digest": wrong], false),
      (["Content-Digest": right], true), (["Content-Digest": wrong], false),
      (["Repr-Digest": right, "Content-Digest": wrong], false),
      (["Digest": "SHA-256=\(digest("other"))"], false), (["Repr-Digest": "sha-256=x"], true),
    ] as [(HeaderFields, Bool)])
  func `a body without the digest that the server states is not stored`(
    digests: HeaderFields, isStored: Bool
  ) async throws {
    var headers: HeaderFields = ["Content-Length": "8", "Cache-Control": "max-age=86400"]
    for field in digests.fields { headers.append(field.name, field.value) }
    let cache = try cache(ScriptedTransport { [headers] _ in (200, headers, ["hello", "you"]) })
    #expect(try await read(cache) == (.miss, "helloyou"))
    #expect(try await read(cache) == (isStored ? .hit : .miss, "helloyou"))
  }

  @Test func `a copy that contradicts the digest of its head is removed, and fetched`() async throws
  {
    let resource = ResourceKey(ResourceRequest(url, headers: ["User-Agent": "haul"])).digest
    let response = StoredResponse(
      status: 200, headers: ["Repr-Digest": Self.wrong, "Cache-Control": "max-age=86400"],
      requestedAt: Date().timeIntervalSince1970, answeredAt: Date().timeIntervalSince1970)
    let head = BlobHead(
      resource: resource, address: url.redacted, vary: [], selection: ResourceKey.digest(of: []),
      representation: 1, response: response)
    let blob = Blob(head: head, body: Data("helloyou".utf8))
    let blobs = BlobDirectory(path: directory.path + "/blobs")
    try blobs.create()
    let path = blobs.filePath(BlobDirectory.name(head))
    try (BlobFormat.start(of: blob) + blob.body).write(to: URL(filePath: path))
    let cache = try cache(
      ScriptedTransport { _ in
        (200, ["Content-Length": "8", "Cache-Control": "max-age=86400"], ["HELLO", "YOU"])
      })
    #expect(try await read(cache) == (.miss, "HELLOYOU"))
    #expect(!FileManager.default.fileExists(atPath: path))
    #expect(try await read(cache) == (.hit, "HELLOYOU"))
  }

  @Test func `a 304 that states another digest confirms nothing; its Content-Digest is of no body`()
    async throws
  {
    let transport = ScriptedTransport { number in
      switch number {
      case 1, 4:
        let body: HeaderFields = [
          "Content-Length": "8", "Content-Digest": Self.right, "ETag": "\"1\"",
        ]
        return (200, body, ["helloyou"])
      case 2: return (304, ["Content-Digest": "sha-256=:\(Self.digest("")):"], [])
      default: return (304, ["Repr-Digest": Self.wrong], [])
      }
    }
    let cache = try cache(transport)
    let again: HeaderFields = ["Cache-Control": "no-cache"]
    #expect(try await read(cache) == (.miss, "helloyou"))
    #expect(try await read(cache, again) == (.revalidated, "helloyou"))
    #expect(try await read(cache, again) == (.miss, "helloyou"))
    #expect(transport.seen.withLockedValue { $0.count } == 4)
  }

  @Test(
    arguments: [
      ["Pragma": "no-cache"], ["Cache-Control": "no-cache"], ["Cache-Control": "max-age=0"],
      ["Cache-Control": "min-fresh=90000"], ["Cache-Control": "no-cache; x"],
    ] as [HeaderFields])
  func `a request that asks for a confirmation gets one, for the same copy`(
    headers: HeaderFields
  ) async throws {
    let transport = ScriptedTransport { number in
      let fields: HeaderFields = [
        "Content-Length": "1", "Cache-Control": "max-age=86400, immutable", "ETag": "\"1\"",
      ]
      return number == 1 ? (200, fields, ["1"]) : (304, ["ETag": "\"1\""], [])
    }
    let cache = try cache(transport)
    #expect(try await read(cache) == (.miss, "1"))
    #expect(try await read(cache, headers) == (.revalidated, "1"))
    #expect(try await read(cache) == (.hit, "1"))
    #expect(transport.seen.withLockedValue { $0.count } == 2)
  }

  @Test func `a request with no-store stores nothing`() async throws {
    let cache = try cache(
      ScriptedTransport { number in
        (200, ["Content-Length": "1", "Cache-Control": "max-age=86400"], ["\(number)"])
      })
    #expect(try await read(cache, ["Cache-Control": "no-store"]) == (.miss, "1"))
    #expect(try await read(cache) == (.miss, "2"))
    #expect(try await read(cache) == (.hit, "2"))
  }
}
