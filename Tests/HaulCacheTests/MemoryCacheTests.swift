import HaulCache
import Testing

@Suite struct MemoryCacheTests {
  @Test func `keeps the cost within the limit, and returns what it keeps`() {
    let cache = MemoryCache<Int, Int>(costLimit: 100)
    for key in 0..<1000 {
      cache.insert(key * 2, for: key, cost: key % 7 + 1)
      #expect(cache.cost <= 100)
      #expect(cache.value(for: key) == key * 2)
    }
    #expect(cache.count > 10)
  }

  @Test func `does not keep a value that costs more than the limit, and evicts nothing for it`() {
    let cache = MemoryCache<String, Int>(costLimit: 10)
    cache.insert(1, for: "a", cost: 10)
    cache.insert(2, for: "b", cost: 11)
    #expect(cache.value(for: "b") == nil)
    #expect(cache.value(for: "a") == 1)
    cache.insert(3, for: "a", cost: 11)
    #expect(cache.value(for: "a") == nil)
    #expect(cache.cost == 0)
  }

  @Test func `trims to a fraction, removes one, and purges`() {
    let cache = MemoryCache<Int, Int>(costLimit: 100)
    for key in 0..<100 { cache.insert(key, for: key, cost: 1) }
    cache.trim(toFraction: 0.25)
    #expect(cache.cost == 25)
    cache.insert(7, for: 1000, cost: 5)
    cache.removeValue(for: 1000)
    #expect(cache.value(for: 1000) == nil)
    cache.removeAll()
    #expect(cache.count == 0)
    #expect(cache.cost == 0)
  }

  @Test func `replacing a value changes its cost and keeps one entry`() {
    let cache = MemoryCache<Int, Int>(costLimit: 100)
    cache.insert(1, for: 1, cost: 60)
    cache.insert(2, for: 1, cost: 30)
    #expect(cache.count == 1)
    #expect(cache.cost == 30)
    #expect(cache.value(for: 1) == 2)
  }

  @Test func `values that are read often survive a scan of values that are read once`() {
    let cache = MemoryCache<Int, Int>(costLimit: 100)
    for key in 0..<50 { cache.insert(key, for: key, cost: 1) }
    for _ in 0..<2 { for key in 0..<50 { _ = cache.value(for: key) } }
    for key in 1000..<11_000 { cache.insert(key, for: key, cost: 1) }
    let survivors = (0..<50).count { cache.value(for: $0) != nil }
    #expect(survivors == 50)
  }

  @Test func `releases values outside the lock`() {
    final class Reentrant: Sendable {
      let cache: MemoryCache<Int, Reentrant>
      init(_ cache: MemoryCache<Int, Reentrant>) { self.cache = cache }
      deinit { _ = cache.value(for: 1) }
    }
    let cache = MemoryCache<Int, Reentrant>(costLimit: 1)
    for key in 0..<10 { cache.insert(Reentrant(cache), for: key, cost: 1) }
    cache.trim(toFraction: 0)
    #expect(cache.count == 0)
  }

  @Test func `memory stays flat over a million keys`() throws {
    let cache = MemoryCache<Int, Int>(costLimit: 2000)
    func fill(_ keys: Range<Int>) {
      for key in keys where cache.value(for: key) == nil { cache.insert(key, for: key, cost: 1) }
    }
    fill(0..<100_000)
    let before = try ResidentMemory.kibibytes()
    fill(100_000..<1_000_000)
    let growth = try ResidentMemory.kibibytes() - before
    print("resident memory grew by \(growth) KiB over 900,000 keys; entries \(cache.count)")
    #expect(cache.count == 2000)
    #expect(growth < 20_000)
  }
}

@Suite struct HitRatioTests {
  /// Skewed reads (Zipf, exponent 0.75, over 10,000 keys), with scans over keys that never return.
  private func trace(scans: Bool) -> [Int] {
    var random = SeededRandom(7)
    var sums: [Double] = []
    var sum = 0.0
    for rank in 1...10_000 {
      sum += 1 / Double(rank).squareRoot() / Double(rank).squareRoot().squareRoot()
      sums.append(sum)
    }
    var keys: [Int] = []
    var fresh = 1_000_000
    for step in 0..<400_000 {
      if scans, step % 10_000 == 0 {
        keys += fresh..<(fresh + 3000)
        fresh += 3000
      }
      let target = Double(random.next() >> 11) / Double(1 << 53) * sum
      var (low, high) = (0, sums.count - 1)
      while low < high {
        let middle = (low + high) / 2
        if sums[middle] < target { low = middle + 1 } else { high = middle }
      }
      keys.append(low)
    }
    return keys
  }

  @Test(arguments: [false, true]) func `hits more often than LRU`(scans: Bool) {
    let keys = trace(scans: scans)
    let cache = MemoryCache<Int, Int>(costLimit: 1000)
    var lru = LRU(limit: 1000)
    var (hits, lruHits) = (0, 0)
    for key in keys {
      if cache.value(for: key) != nil {
        hits += 1
      } else {
        cache.insert(key, for: key, cost: 1)
      }
      if lru.read(key) { lruHits += 1 }
    }
    let (ratio, lruRatio) = (
      Double(hits) / Double(keys.count), Double(lruHits) / Double(keys.count)
    )
    print("scans \(scans): S3-FIFO \(ratio), LRU \(lruRatio)")
    #expect(ratio > lruRatio + (scans ? 0.03 : 0.01))
  }
}

/// The plain algorithm to compare with.
private struct LRU {
  let limit: Int
  private var times: [Int: Int] = [:]
  private var order: [(key: Int, time: Int)] = []
  private var first = 0
  private var now = 0

  init(limit: Int) { self.limit = limit }

  mutating func read(_ key: Int) -> Bool {
    now += 1
    let isHit = times.updateValue(now, forKey: key) != nil
    order.append((key, now))
    while times.count > limit {
      let oldest = order[first]
      first += 1
      if times[oldest.key] == oldest.time { times[oldest.key] = nil }
    }
    return isHit
  }
}

@Suite struct NegativeCacheTests {
  private typealias Cache = NegativeCache<String, Int>
  private let waits = Cache.Waits(first: 1, maximum: 60)

  @Test func `a failure holds for its wait, which doubles with each further failure`() {
    var cache = Cache(limit: 10)
    var now: Double = 100
    var found: [Double] = []
    for reason in 0..<9 {
      let failure = cache.note(reason, of: "a", at: now, waits: waits)
      found.append(failure.retryAt - now)
      #expect(cache.failure(of: "a", at: failure.retryAt - 0.1)?.reason == reason)
      #expect(cache.failure(of: "a", at: failure.retryAt) == nil)
      now = failure.retryAt
    }
    #expect(found == [1, 2, 4, 8, 16, 32, 60, 60, 60])
    cache.remove("a")
    #expect(cache.note(0, of: "a", at: now, waits: waits).count == 1)
  }

  @Test func `a clock that is set back ends every wait`() {
    var cache = Cache(limit: 10)
    _ = cache.note(1, of: "a", at: 1000, waits: waits)
    #expect(cache.failure(of: "a", at: 10) == nil)
  }

  @Test func `the number of failures is bounded`() {
    var cache = Cache(limit: 10)
    for key in 0..<1000 { _ = cache.note(1, of: "\(key)", at: 1, waits: waits) }
    #expect(cache.count <= 10)
  }
}
