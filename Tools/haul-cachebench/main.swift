import FoundationEssentials
import HaulCache
import HaulCore

// haul-cachebench DIRECTORY [--quick]: measures the resource cache without a network. One line per
// figure; Scripts/lib/bench/cached.py reads them. --quick loads fewer keys.

/// Answers at once with the same bytes.
struct InstantFetcher: ResourceFetcher {
  let body: Data

  func fetch(_ request: ResourceFetchRequest) async throws(TransferError) -> ResourceResponse {
    let now = Date().timeIntervalSince1970
    return ResourceResponse(
      status: 200, headers: ["Cache-Control": "max-age=3600"], body: body, requestedAt: now,
      answeredAt: now)
  }
}

func report(_ name: String, _ count: Int, _ duration: Duration) {
  let nanoseconds = duration / .nanoseconds(1)
  print(
    "\(name): \(count) in \(duration / .milliseconds(1)) ms, \(nanoseconds / Double(count)) ns each"
  )
}

func makeCache(
  _ size: Int, directory: String? = nil, memoryLimit: Int = 1 << 30
) -> ResourceCache<Int> {
  var configuration = ResourceCacheConfiguration()
  configuration.directory = directory
  configuration.memoryLimit = memoryLimit
  let fetcher = InstantFetcher(body: Data(repeating: 7, count: size))
  return ResourceCache(configuration, fetcher: fetcher) { $0.data.count }
}

func urls(_ range: Range<Int>) throws -> [ResourceURL] {
  try range.map { try ResourceURL("http://example.com/icons/\($0).png") }
}

let clock = ContinuousClock()

func measureMemory() async throws {
  let cache = makeCache(100)
  let known = try urls(0..<2000)
  for url in known { _ = try await cache.value(for: url) }
  for _ in 0..<3 {
    var found = 0
    let hits = clock.measure {
      for _ in 0..<50 { for url in known where cache.cachedValue(for: url) != nil { found += 1 } }
    }
    report("memory hits", found, hits)
  }
  let unknown = try urls(10_000..<12_000)
  var missing = 0
  let misses = clock.measure {
    for _ in 0..<50 { for url in unknown where cache.cachedValue(for: url) == nil { missing += 1 } }
  }
  report("memory misses", missing, misses)
}

func measureConcurrent() async throws {
  let cache = makeCache(100)
  let addresses = try urls(0..<5000)
  let time = try await clock.measure {
    try await withThrowingTaskGroup(of: Int.self) { group in
      for url in addresses { group.addTask { try await cache.value(for: url) } }
      for try await _ in group {}
    }
  }
  report("concurrent requests", cache.metrics.fetches, time)
}

func measureDisk(_ directory: String) async throws {
  let addresses = try urls(0..<1000)
  let cache = makeCache(256 << 10, directory: directory)
  let writes = try await clock.measure {
    for url in addresses { _ = try await cache.value(for: url) }
    while cache.metrics.bytesWritten < 1000 * (256 << 10) { await Task.yield() }
  }
  report("writes of 256 KiB", 1000, writes)
  let second = makeCache(256 << 10, directory: directory)
  let reads = try await clock.measure {
    for url in addresses { _ = try await second.value(for: url) }
  }
  report("reads of 256 KiB", second.metrics.diskHits, reads)
}

/// Resident memory in KiB.
func residentMemory() throws -> Int {
  let status = try Data(contentsOf: URL(filePath: "/proc/self/status"))
  let line = String(decoding: status, as: UTF8.self).split(separator: "\n")
    .first { $0.hasPrefix("VmRSS:") }
  return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
}

/// Loads more keys than there is room for: memory must not grow with their number.
func measureGrowth(_ total: Int) async throws {
  let cache = makeCache(100, memoryLimit: 4 << 20)
  var loaded = 0
  let time = try await clock.measure {
    for count in [total / 10, total] {
      while loaded < count {
        _ = try await cache.value(for: ResourceURL("http://example.com/icons/\(loaded).png"))
        loaded += 1
      }
      print("resident memory: \(try residentMemory()) KiB after \(loaded) keys")
    }
  }
  report("loads of new keys", loaded, time)
}

let arguments = CommandLine.arguments.dropFirst()
guard let directory = arguments.first, arguments.dropFirst().allSatisfy({ $0 == "--quick" }) else {
  print("usage: haul-cachebench DIRECTORY [--quick]")
  throw CancellationError()
}
try await measureMemory()
try await measureConcurrent()
try await measureDisk(directory)
try await measureGrowth(arguments.count > 1 ? 20_000 : 1_000_000)
