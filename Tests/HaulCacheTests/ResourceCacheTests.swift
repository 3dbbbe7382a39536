import Foundation
import HaulCache
import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

@Suite struct CoalescingTests {
  @Test func `a thousand who ask at once cause one request, and all get its value`() async throws {
    let fixture = Fixture()
    let url = try fixture.url()
    fixture.fetcher.hold()
    let values = await withTaskGroup(of: String?.self) { group in
      for _ in 0..<1000 { group.addTask { try? await fixture.cache.value(for: url) } }
      await fixture.fetcher.waitForRequests(1)
      fixture.fetcher.release()
      return await group.reduce(into: [:]) { $0[$1 ?? "", default: 0] += 1 }
    }
    #expect(values == ["/a 1": 1000])
    #expect(fixture.fetcher.requests.count == 1)
    let metrics = fixture.cache.metrics
    #expect(metrics.decoded == 1)
    #expect(metrics.coalesced + metrics.memoryHits == 999)
  }

  @Test func `cancelling one does not touch the others; cancelling the last ends the fetch`()
    async throws
  {
    let fixture = Fixture()
    let url = try fixture.url()
    fixture.fetcher.hold()
    let first = Task { try await fixture.cache.value(for: url) }
    await fixture.fetcher.waitForRequests(1)
    let second = Task { try await fixture.cache.value(for: url) }
    try await until { fixture.cache.metrics.coalesced >= 1 }
    first.cancel()
    await #expect(throws: ResourceError.self) { try await first.value }
    #expect(fixture.fetcher.cancelled == 0)
    fixture.fetcher.release(1)
    #expect(try await second.value == "/a 1")

    let last = Task { try await fixture.cache.value(for: try fixture.url("/b")) }
    await fixture.fetcher.waitForRequests(2)
    last.cancel()
    let error = await #expect(throws: ResourceError.self) { try await last.value }
    #expect(error?.isCancelled == true)
    try await until { fixture.fetcher.cancelled >= 1 }
    // The same again at once is a new request, and gets its value.
    let again = Task { try await fixture.cache.value(for: try fixture.url("/b")) }
    await fixture.fetcher.waitForRequests(3)
    fixture.fetcher.release()
    #expect(try await again.value == "/b 3")
  }

  @Test func `the priority is the highest of those who wait, and may rise and fall`() async throws {
    let fixture = Fixture()
    let url = try fixture.url()
    fixture.fetcher.hold()
    let prefetch = fixture.cache.prefetch([url])
    await fixture.fetcher.waitForRequests(1)
    let priority = try #require(fixture.fetcher.requests.first).priority
    let seen = NIOLockedValueBox<[TransferRequest.Priority]>([])
    priority.observe { value in seen.withLockedValue { $0.append(value) } }
    let reader = Task { try await fixture.cache.value(for: url, priority: .userInteractive) }
    try await until { priority.value == .userInteractive }
    reader.cancel()
    _ = await reader.result
    #expect(priority.value == .background)
    #expect(seen.withLockedValue { $0 } == [.background, .userInteractive, .background])
    prefetch.cancel()
    try await until { fixture.fetcher.cancelled >= 1 }
    #expect(fixture.cache.cachedValue(for: url) == nil)
  }

  @Test func `an address is a URL or a text too, and what is none is refused by name`() async throws
  {
    let fixture = Fixture()
    let url = try fixture.url()
    #expect(try await fixture.cache.value(for: url.text) == "/a 1")
    let known = try #require(url.url)
    #expect(fixture.cache.cachedValue(for: known) == "/a 1")
    #expect(fixture.cache.cachedValue(for: "a") == nil)
    let error = await #expect(throws: ResourceError.self) {
      try await fixture.cache.value(for: URL(filePath: "/a"))
    }
    #expect(error?.transferError?.code == .unsupportedScheme)
    #expect(fixture.fetcher.requests.count == 1)
  }

  @Test func `prefetched values are there without a further request`() async throws {
    let fixture = Fixture()
    let urls = try (0..<50).map { try fixture.url("/\($0)") }
    fixture.cache.prefetch(urls)
    for url in urls { _ = try await fixture.cache.value(for: url) }
    #expect(fixture.fetcher.requests.count == 50)
    #expect(urls.allSatisfy { fixture.cache.cachedValue(for: $0) != nil })
  }

  @Test func `other credentials and other fields that Vary names are other resources`() async throws
  {
    let fixture = Fixture(headers: ["Cache-Control": "max-age=60", "Vary": "Accept-Language"])
    let url = try fixture.url()
    func value(_ headers: HeaderFields) async throws -> String {
      try await fixture.cache.value(for: ResourceRequest(url, headers: headers))
    }
    #expect(try await value(["Accept-Language": "de"]) == "/a 1")
    #expect(try await value(["Accept-Language": "fr"]) == "/a 2")
    #expect(try await value(["Accept-Language": "de", "Accept": "x"]) == "/a 1")
    #expect(try await value(["Accept-Language": "de", "Authorization": "a"]) == "/a 3")
    #expect(try await value(["Accept-Language": "de", "Authorization": "b"]) == "/a 4")
    #expect(try await value(["Accept-Language": "fr"]) == "/a 2")
    #expect(fixture.fetcher.requests.count == 4)
  }

  @Test func `who joined a fetch whose response varies otherwise gets a fetch of their own`()
    async throws
  {
    let fixture = Fixture()
    let url = try fixture.url()
    fixture.fetcher.answer { request, number in
      let headers: HeaderFields = [
        "Cache-Control": "max-age=0", "Vary": number == 1 ? "Accept" : "Accept-Language",
      ]
      return fixture.clock.response(
        200, headers, "\(request.headers["Accept-Language"] ?? "") \(number)")
    }
    let first = ResourceRequest(url, headers: ["Accept-Language": "de"])
    #expect(try await fixture.cache.value(for: first) == "de 1")
    // Now only Accept is known to matter, so both share a fetch.
    fixture.fetcher.hold()
    let german = Task { try await fixture.cache.value(for: first) }
    await fixture.fetcher.waitForRequests(2)
    let second = ResourceRequest(url, headers: ["Accept-Language": "fr"])
    let french = Task { try await fixture.cache.value(for: second) }
    try await until { fixture.cache.metrics.coalesced >= 1 }
    fixture.fetcher.release()
    #expect(try await german.value == "de 2")
    #expect(try await french.value.hasPrefix("fr "))
  }
}

@Suite struct CachingTests {
  @Test func `scrolling back and forth repeats no request, though memory holds few values`()
    async throws
  {
    let directory = try TemporaryDirectory()
    let fixture = Fixture(directory: directory.path) { $0.memoryLimit = 6000 }
    for row in Array(0..<60) + Array((0..<60).reversed()) + Array(0..<60) {
      #expect(try await fixture.cache.value(for: try fixture.url("/\(row)")).hasPrefix("/\(row) "))
    }
    #expect(fixture.fetcher.requests.count == 60)
    #expect(fixture.cache.metrics.diskHits > 0)
  }

  @Test func `flush returns when what was delivered is on disk`() async throws {
    let directory = try TemporaryDirectory()
    let fixture = Fixture(directory: directory.path)
    let urls = try (0..<20).map { try fixture.url("/\($0)") }
    await withTaskGroup(of: Void.self) { group in
      for url in urls { group.addTask { _ = try? await fixture.cache.value(for: url) } }
    }
    await fixture.cache.flush()
    let store = DiskStore(directory: directory.path, limit: .max, maximumAge: 1e9)
    #expect(try store.rows(at: Fixture.start).count == 20)
  }

  @Test func `flush does not wait for a load that has delivered nothing, nor without a directory`()
    async throws
  {
    let directory = try TemporaryDirectory()
    let fixture = Fixture(directory: directory.path)
    let url = try fixture.url()
    fixture.fetcher.hold()
    let load = Task { try await fixture.cache.value(for: url) }
    await fixture.fetcher.waitForRequests(1)
    await fixture.cache.flush()
    fixture.fetcher.release()
    _ = try await load.value
    await Fixture().cache.flush()
  }

  @Test func `a second start is served from disk, also without a network`() async throws {
    let directory = try TemporaryDirectory()
    let fixture = Fixture(directory: directory.path)
    let url = try fixture.url()
    _ = try await fixture.cache.value(for: url)
    try await until { fixture.cache.metrics.bytesWritten > 0 }
    fixture.fetcher.answer { _, _ throws(TransferError) in throw offline() }
    let second = Fixture.cache(fixture.fetcher, fixture.clock, directory.path)
    #expect(second.cachedValue(for: url) == nil)
    #expect(try await second.value(for: url) == "/a 1")
    #expect(second.cachedValue(for: url) == "/a 1")
    #expect(fixture.fetcher.requests.count == 1)
  }

  @Test func `a purge of the memory keeps what is under way, and refills from disk`() async throws {
    let directory = try TemporaryDirectory()
    let fixture = Fixture(directory: directory.path)
    let (a, b) = (try fixture.url(), try fixture.url("/b"))
    _ = try await fixture.cache.value(for: a)
    fixture.fetcher.hold()
    let task = Task { try await fixture.cache.value(for: b) }
    await fixture.fetcher.waitForRequests(2)
    fixture.cache.purgeMemory()
    #expect(fixture.cache.memoryCost == 0)
    let other = Task { try await fixture.cache.value(for: b) }
    try await until { fixture.cache.metrics.coalesced >= 1 }
    fixture.fetcher.release()
    #expect(try await task.value == "/b 2")
    #expect(try await other.value == "/b 2")
    #expect(fixture.cache.cachedValue(for: a) == nil)
    #expect(try await fixture.cache.value(for: a) == "/a 1")
    #expect(fixture.fetcher.requests.count == 2)
  }

  @Test func `what is removed while its load is under way is delivered, but not stored`()
    async throws
  {
    let directory = try TemporaryDirectory()
    let fixture = Fixture(directory: directory.path)
    let url = try fixture.url()
    fixture.fetcher.hold()
    let task = Task { try await fixture.cache.value(for: url) }
    await fixture.fetcher.waitForRequests(1)
    try await fixture.cache.removeAll()
    fixture.fetcher.release()
    #expect(try await task.value == "/a 1")
    #expect(fixture.cache.cachedValue(for: url) == nil)
    #expect(try await fixture.cache.value(for: url) == "/a 2")
    try await fixture.cache.remove(ResourceRequest(url))
    #expect(fixture.cache.cachedValue(for: url) == nil)
  }

  @Test func `decodes once, off the main thread`() async throws {
    let clock = ManualClock(wallStart: Fixture.start)
    let decoded = NIOLockedValueBox<[Bool]>([])
    var configuration = ResourceCacheConfiguration()
    configuration.observesMemoryPressure = false
    let cache = ResourceCache(
      configuration, fetcher: ScriptedFetcher.serving(clock), clock: clock, io: BlockingIO()
    ) { resource in
      decoded.withLockedValue { $0.append(isMainThread()) }
      return resource.data.count
    }
    let url = try ResourceURL("http://example.com/a")
    for _ in 0..<3 {
      let value = try await Task { @MainActor in try await cache.value(for: url) }.value
      #expect(value == 4)
    }
    #expect(decoded.withLockedValue { $0 } == [false])
  }

  @Test func `refuses a resource above the size limit, and header fields that change the bytes`()
    async throws
  {
    let fixture = Fixture { $0.maximumSize = 3 }
    let url = try fixture.url()
    let error = await #expect(throws: ResourceError.self) {
      try await fixture.cache.value(for: url)
    }
    #expect(error?.transferError?.code == .tooLarge)
    let range = ResourceRequest(url, headers: ["Range": "bytes=0-1"])
    await #expect(throws: ResourceError.self) { try await fixture.cache.value(for: range) }
    #expect(fixture.fetcher.requests.count == 1)
  }

  @Test func `a value that cannot be decoded is not fetched again at once`() async throws {
    struct Unreadable: Error {}
    let clock = ManualClock(wallStart: Fixture.start)
    let fetcher = ScriptedFetcher.serving(clock)
    let cache = ResourceCache<Int>(
      ResourceCacheConfiguration(), fetcher: fetcher, clock: clock, io: BlockingIO()
    ) { _ in throw Unreadable() }
    let url = try ResourceURL("http://example.com/a")
    for _ in 0..<5 {
      await #expect(throws: ResourceError.self) { try await cache.value(for: url) }
    }
    #expect(fetcher.requests.count == 1)
  }

  @Test(.timeLimit(.minutes(10))) func `nothing keeps a cache alive after its last load`()
    async throws
  {
    weak var leaked: ResourceCache<String>?
    do {
      let directory = try TemporaryDirectory()
      let fixture = Fixture(directory: directory.path)
      leaked = fixture.cache
      for row in 0..<20 { _ = try await fixture.cache.value(for: try fixture.url("/\(row)")) }
      fixture.cache.prefetch([try fixture.url("/x")]).cancel()
    }
    // Its last writes to disk may still be under way.
    try await until { leaked == nil }
  }
}

private func isMainThread() -> Bool { Thread.isMainThread }

@Suite struct FailureTests {
  @Test func `offline: one attempt, then waits that grow, then recovery by itself`() async throws {
    let fixture = Fixture()
    let url = try fixture.url()
    fixture.fetcher.answer { _, _ throws(TransferError) in throw offline() }
    var attempts: [Int] = []
    for _ in 0..<40 {
      _ = try? await fixture.cache.value(for: url)
      attempts.append(fixture.fetcher.requests.count)
      fixture.clock.advance(by: .milliseconds(250))
    }
    // At 0, 1, 3 and 7 s of 10.
    #expect(attempts.last == 4)
    #expect(fixture.cache.metrics.negativeHits == 36)
    fixture.fetcher.answer { _, _ in fixture.clock.response(200, [:], "back") }
    let error = await #expect(throws: ResourceError.self) {
      try await fixture.cache.value(for: url)
    }
    let retryAt = try #require(error?.retryAt)
    fixture.clock.advance(by: .seconds(retryAt - fixture.clock.wallSeconds))
    #expect(try await fixture.cache.value(for: url) == "back")
  }

  @Test func `a purge does not start failed loads again`() async throws {
    let fixture = Fixture()
    fixture.fetcher.answer { _, _ throws(TransferError) in throw offline() }
    let url = try fixture.url()
    for _ in 0..<5 {
      _ = try? await fixture.cache.value(for: url)
      fixture.cache.purgeMemory()
    }
    #expect(fixture.fetcher.requests.count == 1)
  }

  @Test func `a 404 holds for as long as it says, Retry-After lengthens a wait`() async throws {
    let fixture = Fixture()
    func wait(_ status: Int, _ headers: HeaderFields, _ path: String) async throws -> Double? {
      fixture.fetcher.answer { _, _ in fixture.clock.response(status, headers) }
      let url = try fixture.url(path)
      let error = await #expect(throws: ResourceError.self) {
        try await fixture.cache.value(for: url)
      }
      return error?.retryAt.map { $0 - fixture.clock.wallSeconds }
    }
    #expect(try await wait(404, [:], "/1") == 60)
    #expect(try await wait(404, ["Cache-Control": "max-age=7"], "/2") == 7)
    #expect(try await wait(410, ["Cache-Control": "max-age=999999"], "/3") == 3600)
    #expect(try await wait(503, ["Retry-After": "20"], "/4") == 20)
    #expect(try await wait(503, ["Retry-After": "0"], "/6") == 1)
    #expect(try await wait(404, ["Retry-After": "7"], "/7") == 60)
    #expect(try await wait(500, [:], "/5") == 1)
  }

  @Test func `a reload asks the server though a failure is known`() async throws {
    let fixture = Fixture()
    let url = try fixture.url()
    fixture.fetcher.answer { _, _ in fixture.clock.response(404) }
    _ = try? await fixture.cache.value(for: url)
    fixture.fetcher.answer { _, _ in fixture.clock.response(200, [:], "there") }
    #expect(try await fixture.cache.value(for: ResourceRequest(url, policy: .reload)) == "there")
    #expect(try await fixture.cache.value(for: url) == "there")
  }
}
