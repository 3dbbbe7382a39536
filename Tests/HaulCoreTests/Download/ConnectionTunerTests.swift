import HaulCore
import Testing

/// The number of connections depends on measured throughput, in virtual time.
@Suite
struct ConnectionTunerTests {
  private static let rate = 4_000_000.0

  private func finished(
    _ network: ModelNetwork, megabytes: Double, limit: Int, remembered: Int? = nil, seed: UInt64 = 1
  ) -> TunedDownload {
    var download = TunedDownload(
      network, megabytes: megabytes, limit: limit, remembered: remembered, seed: seed)
    download.run()
    return download
  }

  @Test func `It doubles, each time after the newest ones have delivered, up to the limit`() {
    let network = ModelNetwork.perConnection(Self.rate).with { $0.latency = .milliseconds(50) }
    var download = TunedDownload(network, megabytes: 100, limit: 8)
    for (time, open) in [(0.02, 1), (0.08, 2), (0.13, 4), (0.18, 8)] {
      download.run(until: time)
      #expect(download.open == open, "after \(time) s")
    }
    download.run(until: 0.3)
    #expect(download.choices == [ConnectionChoice(8, .limit)])
  }

  @Test func `With short latency, a long download measures four connections before more`() {
    let network = ModelNetwork.perConnection(Self.rate).with { $0.latency = .milliseconds(20) }
    for (megabytes, open) in [(40.0, 8), (100, 4)] {
      var download = TunedDownload(network, megabytes: megabytes, limit: 8)
      download.run(until: 0.09)
      #expect(download.open == open, "\(megabytes) MB")
      download.run(until: 0.3)
      #expect(download.open == 8, "\(megabytes) MB")
    }
  }

  @Test func `Near the end no more are opened: they would come too late`() {
    let network = ModelNetwork.perConnection(Self.rate)
    let download = finished(network, megabytes: 6, limit: 8)
    #expect(download.most == 2)
  }

  @Test(arguments: UInt64(1)...5)
  func `A doubling that makes it slower is undone at once`(seed: UInt64) {
    let network = ModelNetwork.slowing(Self.rate, beyond: 4).with {
      $0.noise = 0.2
      $0.latency = .milliseconds(10)
    }
    let download = finished(network, megabytes: 256, limit: 16, seed: seed)
    #expect(download.most == 8, "seed \(seed)")
  }

  @Test(arguments: [2, 8, 16], UInt64(1)...5)
  func `If each connection brings as much as the first, all allowed ones are used`(
    limit: Int, seed: UInt64
  ) {
    let network = ModelNetwork.perConnection(Self.rate).with { $0.noise = 0.3 }
    let download = finished(network, megabytes: 40 * Double(limit), limit: limit, seed: seed)
    #expect(download.open == limit, "seed \(seed)")
    #expect(download.choices.last?.reason == .limit, "seed \(seed)")
    let best = TunedDownload.best(network, megabytes: 40 * Double(limit), limit: limit)
    #expect(download.seconds < best / 0.9, "seed \(seed)")
  }

  @Test(arguments: [6, 8, 16], UInt64(1)...5)
  func `If a server is slower beyond four connections, it settles near the best number`(
    limit: Int, seed: UInt64
  ) {
    for latency in [5, 200] {
      let network = ModelNetwork.slowing(Self.rate, beyond: 4).with {
        $0.noise = 0.2
        $0.latency = .milliseconds(latency)
      }
      let download = finished(network, megabytes: 256, limit: limit, seed: seed)
      let choice = download.choices.last
      #expect((3...5).contains(choice?.connections ?? 0), "seed \(seed): \(download.choices)")
      #expect(choice?.reason == .slower, "seed \(seed)")
      let best = TunedDownload.best(network, megabytes: 256, limit: limit)
      #expect(download.seconds < best * 1.1, "seed \(seed)")
    }
  }

  @Test(arguments: UInt64(1)...5)
  func `If six connections fill the line, no speed is lost and surplus ones are stopped`(
    seed: UInt64
  ) {
    let network = ModelNetwork.perConnection(Self.rate, most: 6 * Self.rate).with { $0.noise = 0.2 }
    let download = finished(network, megabytes: 256, limit: 16, seed: seed)
    #expect(download.open < 16, "seed \(seed)")
    #expect(download.choices.last?.reason == .noGain, "seed \(seed)")
    let best = TunedDownload.best(network, megabytes: 256, limit: 16)
    #expect(download.seconds < best / 0.9, "seed \(seed)")
  }

  @Test(arguments: UInt64(1)...5)
  func `If one connection fills the line, it ends with one or two`(seed: UInt64) {
    let network = ModelNetwork.perConnection(Self.rate, most: Self.rate).with { $0.noise = 0.2 }
    let download = finished(network, megabytes: 60, limit: 8, seed: seed)
    #expect(download.open <= 2, "seed \(seed)")
  }

  @Test func `A short download is not measured: no connection is stopped`() {
    let network = ModelNetwork.perConnection(Self.rate)
    var download = TunedDownload(network, megabytes: 60, limit: 8)
    download.run(until: 0.3)
    while !download.isComplete {
      #expect(download.open == 8)
      download.run(until: download.seconds + 0.1)
    }
  }

  @Test func `The next transfer of a host begins with the number that the last one settled on`() {
    let network = ModelNetwork.slowing(Self.rate, beyond: 4)
    var download = TunedDownload(network, megabytes: 128, limit: 16, remembered: 4)
    download.run(until: 1)
    #expect(download.open == 4)
    #expect(download.choices == [ConnectionChoice(4, .remembered)])
    download.run()
    #expect((3...5).contains(download.open))
  }

  @Test func `A remembered number is soon measured: more are tried, and kept if they pay`() {
    let network = ModelNetwork.perConnection(Self.rate)
    let download = finished(network, megabytes: 400, limit: 8, remembered: 2)
    #expect(download.open == 8)
  }

  @Test func `A limit of the server overrides every measurement`() {
    let network = ModelNetwork.perConnection(Self.rate)
    var download = TunedDownload(network, megabytes: 100, limit: 8)
    download.run(until: 0.5)
    download.limit = 3
    download.run(until: 0.7)
    #expect(download.open == 3)
    #expect(download.choices.last?.reason == .refused)
    download.run()
    #expect(download.open == 3)
  }

  @Test
  func `After losing all connections it begins with one again, then returns to its former number`()
  {
    let network = ModelNetwork.slowing(Self.rate, beyond: 4)
    var download = TunedDownload(network, megabytes: 512, limit: 8)
    download.run(until: 6)
    let settled = download.tuner.target
    download.tuner.handle(.lost, at: download.now)
    #expect(download.tuner.target == 1)
    download.run(until: 7)
    #expect(download.tuner.target == settled)
  }

  @Test func `A standstill stops no connection`() {
    var tuner = ConnectionTuner()
    var now = Instant()
    for _ in 0..<200 {
      let sample = ConnectionTuner.Sample(
        open: tuner.target, delivering: tuner.target, bytes: 1000, rest: 1 << 40, limit: 4)
      tuner.handle(.measured(sample), at: now)
      now = now + .milliseconds(100)
    }
    #expect(tuner.target == 4)
  }

  @Test(arguments: [0, 1 << 20])
  func `A wait for a reader is not measured: no connection is stopped`(bytesEach: Int64) {
    let (tuner, _) = limitedByReader(samples: 100, bytesEach: bytesEach)
    #expect(tuner.target == 8)
  }

  @Test func `A reader that pauses does not end the doubling`() {
    var (tuner, now) = limitedByReader(samples: 2, bytesEach: 1 << 20)
    #expect(tuner.target < 8)
    for _ in 0..<40 {
      tuner.handle(.measured(Self.limitedByReader(open: 1, bytes: 1 << 20)), at: now)
      now = now + .milliseconds(100)
    }
    for turn in 0..<40 {
      let sample = Self.limitedByReader(open: tuner.target, bytes: Int64(turn) << 20)
      tuner.handle(.measured(sample), at: now)
      now = now + .milliseconds(100)
    }
    #expect(tuner.target == 8)
  }

  /// As many connections as wanted, all delivering at the speed of the reader, sampled ten times a
  /// second.
  private func limitedByReader(samples: Int, bytesEach: Int64) -> (ConnectionTuner, Instant) {
    var tuner = ConnectionTuner()
    var now = Instant()
    for turn in 0..<samples {
      let sample = Self.limitedByReader(open: tuner.target, bytes: bytesEach * Int64(turn))
      tuner.handle(.measured(sample), at: now)
      now = now + .milliseconds(100)
    }
    return (tuner, now)
  }

  private static func limitedByReader(open: Int, bytes: Int64) -> ConnectionTuner.Sample {
    ConnectionTuner.Sample(
      open: open, delivering: open, bytes: bytes, rest: 1 << 40, limit: 8, isLimitedElsewhere: true)
  }
}
