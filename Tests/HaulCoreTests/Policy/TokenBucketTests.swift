import HaulCore
import Testing

@Suite struct TokenBucketTests {
  /// Takers that request bytes, wait as required (and slightly longer, like timers), use them, and
  /// request again.
  private struct Simulation {
    var bucket: TokenBucket
    var generator: SplitMix64
    /// When bytes were used, in nanoseconds, and how many.
    var used: [(at: Int64, bytes: Int)] = []

    /// Runs `takers` that always request bytes, up to `end` nanoseconds.
    mutating func run(takers: Int, until end: Int64, idle: Bool = false) {
      var agenda = (0..<takers).map { _ in Int64.random(in: 0...1_000_000, using: &generator) }
      while let (index, now) = agenda.enumerated().min(by: { $0.element < $1.element }), now < end {
        let wanted = Int.random(in: 1...(256 << 10), using: &generator)
        let (granted, wait) = bucket.take(upTo: wanted, at: Instant(.nanoseconds(now)))
        let release =
          now + Int64(wait.components.seconds) * 1_000_000_000
          + wait.components.attoseconds / 1_000_000_000
        used.append((release, granted))
        let late = Int64.random(in: 0...2_000_000, using: &generator)
        let pause =
          idle && generator.next() % 16 == 0
          ? Int64.random(in: 0...3_000_000_000, using: &generator) : 0
        agenda[index] = release + late + pause
      }
      used.sort { $0.at < $1.at }
    }

    func bytes(from start: Int64, to end: Int64) -> Int {
      used.reduce(0) { $0 + ((start..<end).contains($1.at) ? $1.bytes : 0) }
    }
  }

  static let second: Int64 = 1_000_000_000

  @Test(arguments: [1 << 10, 10 << 10, 100 << 10, 1 << 20, 50 << 20] as [Int64], [1, 3, 16])
  func `Hungry takers get the rate within 2 % in any ten seconds`(rate: Int64, takers: Int) {
    for seed in UInt64(0)..<3 {
      var simulation = Simulation(
        bucket: TokenBucket(rate: rate, at: Instant()), generator: SplitMix64(seed: seed))
      simulation.run(takers: takers, until: 25 * Self.second)
      for start in stride(from: Self.second, through: 14 * Self.second, by: 333_333_333) {
        let bytes = simulation.bytes(from: start, to: start + 10 * Self.second)
        let share = Double(bytes) / Double(rate * 10)
        #expect((0.98...1.02).contains(share), "seed \(seed), from \(start) ns: \(share)")
      }
    }
  }

  @Test func `Takers that pause never get more than the rate and the burst`() {
    for seed in UInt64(0)..<20 {
      let rate: Int64 = 200 << 10
      var simulation = Simulation(
        bucket: TokenBucket(rate: rate, at: Instant()), generator: SplitMix64(seed: seed))
      simulation.run(takers: 3, until: 60 * Self.second, idle: true)
      for start in stride(from: 0, through: 49 * Self.second, by: 500_000_000) {
        let bytes = simulation.bytes(from: start, to: start + 10 * Self.second)
        #expect(Double(bytes) <= Double(rate * 10) * 1.02, "seed \(seed), from \(start) ns")
      }
    }
  }

  @Test func `The burst is 50 ms of the rate, at least 16 KiB, at most 150 ms`() {
    let table: [(Int64, Int)] = [
      (100 << 20, 5 << 20), (200_000, 16 << 10), (20_000, 3_000), (1, 1), (0, 1), (-5, 1),
    ]
    for (rate, capacity) in table {
      #expect(TokenBucket(rate: rate, at: Instant()).capacity == capacity)
    }
  }

  @Test func `Without a rate, everything is granted at once`() {
    var bucket = TokenBucket(rate: nil, at: Instant())
    let everything = bucket.take(upTo: .max, at: Instant())
    #expect(everything == (.max, .zero))
    let nothing = bucket.take(upTo: 0, at: Instant())
    #expect(nothing == (0, .zero))
  }

  @Test func `Takers are served in the order of their requests`() {
    var bucket = TokenBucket(rate: 1_000_000, at: Instant())
    let waits = (0..<4).map { _ in bucket.take(upTo: 50_000, at: Instant()).wait }
    #expect(waits == [0, 50, 100, 150].map { .milliseconds($0) })
  }

  @Test func `A new rate applies to the next taker, without debt from the old rate`() {
    var bucket = TokenBucket(rate: 1 << 30, at: Instant())
    for _ in 0..<64 { _ = bucket.take(upTo: .max, at: Instant()) }
    bucket.setRate(10_000, at: Instant())
    let slow = bucket.take(upTo: 1_500, at: Instant())
    #expect(slow == (1_500, .milliseconds(300)))
    bucket.setRate(nil, at: Instant())
    let free = bucket.take(upTo: 1 << 20, at: Instant())
    #expect(free == (1 << 20, .zero))
    bucket.setRate(1_000_000, at: Instant())
    let limited = bucket.take(upTo: 50_000, at: Instant())
    #expect(limited.wait <= .milliseconds(50))
  }

  @Test func `A clock that goes backwards does not revoke grants`() {
    var bucket = TokenBucket(rate: 1_000_000, at: Instant(.seconds(5)))
    _ = bucket.take(upTo: 50_000, at: Instant(.seconds(5)))
    let (granted, wait) = bucket.take(upTo: 10_000, at: Instant(.seconds(4)))
    #expect(granted == 10_000)
    #expect(wait == .milliseconds(10))
  }
}
