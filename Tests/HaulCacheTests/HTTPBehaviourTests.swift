import HaulCache
import HaulCore
import HaulTesting
import Testing

/// The cache against a scripted server, each with and without a disk.
@Suite struct HTTPBehaviourTests {
  /// A server that confirms its entity tag.
  private func serve(_ fixture: Fixture, _ control: String, tag: String = "\"1\"") {
    fixture.fetcher.answer { request, number in
      let headers: HeaderFields = ["Cache-Control": control, "ETag": tag]
      return request.headers["If-None-Match"] == tag
        ? fixture.clock.response(304, headers)
        : fixture.clock.response(200, headers, "\(tag) \(number)")
    }
  }

  private func fixture(_ usesDisk: Bool) throws -> (Fixture, TemporaryDirectory) {
    let directory = try TemporaryDirectory()
    return (Fixture(directory: usesDisk ? directory.path : nil), directory)
  }

  @Test(arguments: [false, true])
  func `a stale value is confirmed by a 304, without a body and without decoding`(usesDisk: Bool)
    async throws
  {
    let (fixture, directory) = try fixture(usesDisk)
    let url = try fixture.url()
    serve(fixture, "max-age=10")
    #expect(try await fixture.cache.value(for: url) == "\"1\" 1")
    fixture.clock.advance(by: .seconds(10))
    #expect(fixture.cache.cachedValue(for: url) == nil)
    #expect(try await fixture.cache.value(for: url) == "\"1\" 1")
    #expect(fixture.cache.cachedValue(for: url) == "\"1\" 1")
    #expect(fixture.cache.metrics.revalidations == 1)
    #expect(fixture.cache.metrics.decoded == 1)
    // Another process finds the new age on disk.
    if usesDisk {
      try await until { fixture.cache.metrics.bytesWritten >= 10 }
      let second = Fixture.cache(fixture.fetcher, fixture.clock, directory.path)
      #expect(try await second.value(for: url) == "\"1\" 1")
    }
    #expect(fixture.fetcher.requests.count == 2)
    serve(fixture, "max-age=10", tag: "\"2\"")
    fixture.clock.advance(by: .seconds(10))
    #expect(try await fixture.cache.value(for: url) == "\"2\" 3")
  }

  @Test func `a purged stale value is confirmed from disk`() async throws {
    let (fixture, directory) = try fixture(true)
    let url = try fixture.url()
    serve(fixture, "no-cache")
    _ = try await fixture.cache.value(for: url)
    try await until { fixture.cache.metrics.bytesWritten > 0 }
    fixture.cache.purgeMemory()
    #expect(try await fixture.cache.value(for: url) == "\"1\" 1")
    #expect(fixture.cache.metrics.revalidations == 1)
    #expect(!directory.path.isEmpty)
  }

  @Test func `no-store is kept nowhere, and removes what was kept`() async throws {
    let (fixture, directory) = try fixture(true)
    let url = try fixture.url()
    serve(fixture, "max-age=10")
    _ = try await fixture.cache.value(for: url)
    serve(fixture, "no-store", tag: "\"2\"")
    fixture.clock.advance(by: .seconds(10))
    #expect(try await fixture.cache.value(for: url) == "\"2\" 2")
    #expect(fixture.cache.cachedValue(for: url) == nil)
    #expect(try await fixture.cache.value(for: url) == "\"2\" 3")
    try await until { try await fixture.cache.diskSize() == 0 }
    #expect(!directory.path.isEmpty)
  }

  @Test func `stale-while-revalidate gives the old value at once and asks once behind it`()
    async throws
  {
    let (fixture, _) = try fixture(false)
    let url = try fixture.url()
    serve(fixture, "max-age=10, stale-while-revalidate=60")
    _ = try await fixture.cache.value(for: url)
    serve(fixture, "max-age=10, stale-while-revalidate=60", tag: "\"2\"")
    fixture.clock.advance(by: .seconds(20))
    fixture.fetcher.hold()
    for _ in 0..<10 { #expect(fixture.cache.cachedValue(for: url) == "\"1\" 1") }
    #expect(try await fixture.cache.value(for: url) == "\"1\" 1")
    await fixture.fetcher.waitForRequests(2)
    fixture.fetcher.release()
    try await until { fixture.cache.cachedValue(for: url) == "\"2\" 2" }
    #expect(fixture.fetcher.requests.count == 2)
    #expect(fixture.cache.metrics.stale >= 11)
  }

  @Test func `a failed validation behind a stale value does not loop`() async throws {
    let (fixture, _) = try fixture(false)
    let url = try fixture.url()
    serve(fixture, "max-age=10, stale-while-revalidate=600")
    _ = try await fixture.cache.value(for: url)
    fixture.fetcher.answer { _, _ throws(TransferError) in throw offline() }
    fixture.clock.advance(by: .seconds(20))
    for _ in 0..<100 {
      #expect(fixture.cache.cachedValue(for: url) == "\"1\" 1")
      await Task.yield()
    }
    #expect(fixture.fetcher.requests.count <= 2)
  }

  @Test func `stale-if-error stands in for a failing server, and the server is left alone`()
    async throws
  {
    let (fixture, _) = try fixture(false)
    let url = try fixture.url()
    serve(fixture, "max-age=10, stale-if-error=100")
    _ = try await fixture.cache.value(for: url)
    fixture.fetcher.answer { _, _ in fixture.clock.response(503, ["Retry-After": "30"]) }
    fixture.clock.advance(by: .seconds(20))
    for _ in 0..<3 { #expect(try await fixture.cache.value(for: url) == "\"1\" 1") }
    #expect(fixture.fetcher.requests.count == 2)
    fixture.clock.advance(by: .seconds(100))
    await #expect(throws: ResourceError.self) { try await fixture.cache.value(for: url) }
  }

  @Test func `must-revalidate is never used stale, also without a network`() async throws {
    let (fixture, _) = try fixture(false)
    let url = try fixture.url()
    serve(fixture, "max-age=10, must-revalidate")
    _ = try await fixture.cache.value(for: url)
    fixture.fetcher.answer { _, _ throws(TransferError) in throw offline() }
    fixture.clock.advance(by: .seconds(10))
    await #expect(throws: ResourceError.self) { try await fixture.cache.value(for: url) }
  }

  @Test func `without a network a stale value is used, if nothing forbids it`() async throws {
    let (fixture, _) = try fixture(false)
    let url = try fixture.url()
    serve(fixture, "max-age=10")
    _ = try await fixture.cache.value(for: url)
    fixture.fetcher.answer { _, _ throws(TransferError) in throw offline() }
    fixture.clock.advance(by: .seconds(10))
    #expect(try await fixture.cache.value(for: url) == "\"1\" 1")
  }

  @Test func `a clock that is set back causes one validation`() async throws {
    let (fixture, _) = try fixture(false)
    let url = try fixture.url()
    serve(fixture, "max-age=10000, immutable")
    _ = try await fixture.cache.value(for: url)
    fixture.clock.adjustWallClock(by: -5000)
    #expect(fixture.cache.cachedValue(for: url) == nil)
    #expect(try await fixture.cache.value(for: url) == "\"1\" 1")
    #expect(fixture.cache.cachedValue(for: url) == "\"1\" 1")
    #expect(fixture.fetcher.requests.count == 2)
  }

  @Test func `a 304 for another version is answered by a whole fetch`() async throws {
    let (fixture, _) = try fixture(false)
    let url = try fixture.url()
    serve(fixture, "max-age=10")
    _ = try await fixture.cache.value(for: url)
    fixture.fetcher.answer { request, number in
      request.headers["If-None-Match"] == nil
        ? fixture.clock.response(200, ["ETag": "\"9\""], "new \(number)")
        : fixture.clock.response(304, ["ETag": "\"9\""])
    }
    fixture.clock.advance(by: .seconds(10))
    #expect(try await fixture.cache.value(for: url) == "new 3")
  }

  @Test func `the target of a redirect is fetched anew, without its validators`() async throws {
    let (fixture, _) = try fixture(false)
    let url = try fixture.url()
    fixture.fetcher.answer { _, number in
      var response = fixture.clock.response(
        200, ["Cache-Control": "max-age=10", "ETag": "\"1\""], "\(number)")
      response.wasRedirected = true
      return response
    }
    #expect(try await fixture.cache.value(for: url) == "1")
    #expect(fixture.cache.cachedValue(for: url) == nil)
    #expect(try await fixture.cache.value(for: url) == "2")
    #expect(fixture.fetcher.requests.allSatisfy { $0.headers["If-None-Match"] == nil })
  }

  @Test(arguments: [404, 410])
  func `a resource that the server no longer has is used no more`(status: Int) async throws {
    let (fixture, directory) = try fixture(true)
    let url = try fixture.url()
    serve(fixture, "max-age=10")
    _ = try await fixture.cache.value(for: url)
    await fixture.cache.flush()
    fixture.clock.advance(by: .seconds(10))
    fixture.fetcher.answer { _, _ in fixture.clock.response(status) }
    await #expect(throws: ResourceError.self) { try await fixture.cache.value(for: url) }
    #expect(try await fixture.cache.diskSize() == 0)
    fixture.fetcher.answer { _, _ throws(TransferError) in throw offline() }
    fixture.clock.advance(by: .seconds(100))
    await #expect(throws: ResourceError.self) { try await fixture.cache.value(for: url) }
    #expect(!directory.path.isEmpty)
  }

  @Test func `the policies: cache only, revalidate, reload`() async throws {
    let (fixture, _) = try fixture(false)
    let url = try fixture.url()
    serve(fixture, "max-age=10")
    let cacheOnly = ResourceRequest(url, policy: .cacheOnly)
    await #expect(throws: ResourceError.self) { try await fixture.cache.value(for: cacheOnly) }
    #expect(fixture.fetcher.requests.isEmpty)
    _ = try await fixture.cache.value(for: url)
    #expect(try await fixture.cache.value(for: cacheOnly) == "\"1\" 1")
    #expect(
      try await fixture.cache.value(for: ResourceRequest(url, policy: .revalidate)) == "\"1\" 1")
    #expect(fixture.cache.metrics.revalidations == 1)
    #expect(
      try await fixture.cache.value(for: ResourceRequest(url, policy: .reload)) == "\"1\" 3")
    #expect(fixture.cache.cachedValue(for: url) == "\"1\" 3")
  }

  @Test func `an only-if-cached or no-cache field of the request does the same`() async throws {
    let (fixture, _) = try fixture(false)
    let url = try fixture.url()
    serve(fixture, "max-age=10")
    _ = try await fixture.cache.value(for: url)
    let request = ResourceRequest(url, headers: ["Cache-Control": "no-cache"])
    _ = try await fixture.cache.value(for: request)
    #expect(fixture.cache.metrics.revalidations == 1)
    let cached = ResourceRequest(
      try fixture.url("/b"), headers: ["Cache-Control": "only-if-cached"])
    await #expect(throws: ResourceError.self) { try await fixture.cache.value(for: cached) }
    #expect(fixture.fetcher.requests.count == 2)
  }
}
