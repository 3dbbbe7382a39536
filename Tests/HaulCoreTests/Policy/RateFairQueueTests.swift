import HaulCore
import Testing

@Suite struct RateFairQueueTests {
  /// One connection of a transfer.
  private struct RateClient {
    let id: TransferID
    let weight: Int
    /// The number of requested bytes.
    var chunk: ClosedRange<Int> = 1...(256 << 10)
    /// The time between a grant and the next request, in nanoseconds.
    var away: ClosedRange<Int64> = 0...500_000
    /// When it begins and ends, in nanoseconds.
    var from: Int64 = 0
    var until: Int64 = .max
    /// Whether each request is of another transfer.
    var isFresh = false
  }

  /// Takers in virtual time, with late timers.
  private struct Simulation {
    var share: RateFairQueue
    var takers: [RateClient]
    var generator: SplitMix64
    var used: [(at: Int64, taker: Int, bytes: Int)] = []

    init(rate: Int64, _ takers: [RateClient], seed: UInt64) {
      share = RateFairQueue(rate: rate, at: Instant())
      self.takers = takers
      generator = SplitMix64(seed: seed)
    }

    mutating func run(until end: Int64) {
      var agenda = takers.map(\.from)
      var owners: [RateFairQueue.Ticket: Int] = [:]
      var timer = Int64.max
      while true {
        let coming = agenda.indices.min { agenda[$0] < agenda[$1] } ?? 0
        let now = min(agenda[coming], timer)
        guard now < end else { return }
        let instant = Instant(.nanoseconds(now))
        if agenda[coming] == now {
          agenda[coming] = .max
          let taker = takers[coming]
          if now < taker.until {
            let bytes = Int.random(in: taker.chunk, using: &generator)
            let id = taker.isFresh ? TransferID(using: &generator) : taker.id
            owners[share.ask(upTo: bytes, for: id, weight: taker.weight, at: instant)] = coming
          }
        }
        for grant in share.due(at: instant) {
          guard let owner = owners.removeValue(forKey: grant.ticket) else { continue }
          used.append((now, owner, grant.bytes))
          agenda[owner] = now + Int64.random(in: takers[owner].away, using: &generator)
        }
        timer = share.nextDue(at: instant).map { nanoseconds($0.instant) } ?? .max
        if timer != .max { timer += Int64.random(in: 0...1_500_000, using: &generator) }
      }
    }

    private func nanoseconds(_ instant: Instant) -> Int64 {
      let parts = instant.sinceStart.components
      return parts.seconds * 1_000_000_000 + parts.attoseconds / 1_000_000_000
    }

    /// The part of the rate that a transfer got in that time.
    func part(of id: TransferID, of rate: Int64, from start: Int64, to end: Int64) -> Double {
      let bytes = used.reduce(0) { sum, use in
        (start..<end).contains(use.at) && takers[use.taker].id == id ? sum + use.bytes : sum
      }
      return Double(bytes) / (Double(rate) * Double(end - start) / 1e9)
    }
  }

  private static let second: Int64 = 1_000_000_000
  private let ids: [TransferID]

  init() {
    var generator = SplitMix64(seed: 13)
    ids = (0..<8).map { _ in TransferID(using: &generator) }
  }

  @Test(
    arguments: [
      (100 << 10, 256 << 10), (1 << 20, 16 << 10), (20 << 20, 16 << 10), (100 << 20, 64 << 10),
    ] as [(Int64, Int)])
  func `A rate is divided among running transfers by weight, within 5 %`(rate: Int64, chunk: Int) {
    // Smaller pieces need more steps.
    let seconds = max(Int64(1), min(300, 6_000 * Int64(chunk) / rate))
    let takers = zip(ids, TransferRequest.Priority.allCases).map {
      RateClient(id: $0, weight: $1.weight, chunk: (chunk / 2)...chunk, away: 0...10_000)
    }
    var simulation = Simulation(rate: rate, takers, seed: 1)
    let end = (seconds + 1) * Self.second
    simulation.run(until: end)
    for (id, priority) in zip(ids, TransferRequest.Priority.allCases) {
      let part = simulation.part(of: id, of: rate, from: Self.second, to: end)
      let wanted = Double(priority.weight) / 31
      #expect(abs(part / wanted - 1) <= 0.05, "\(priority): \(part) of \(wanted)")
    }
  }

  @Test func `A rate is shared by transfers, not by connections`() {
    let rate: Int64 = 4 << 20
    let takers = (0..<9).map { RateClient(id: ids[$0 == 0 ? 0 : 1], weight: 4) }
    var simulation = Simulation(rate: rate, takers, seed: 2)
    simulation.run(until: 21 * Self.second)
    for id in ids[0...1] {
      let part = simulation.part(of: id, of: rate, from: Self.second, to: 21 * Self.second)
      #expect((0.475...0.525).contains(part), "\(part)")
    }
  }

  @Test func `A share that a transfer does not use goes to the others`() {
    let rate: Int64 = 10 << 20
    // About a tenth of the rate, however much it could get.
    let slow = RateClient(
      id: ids[0], weight: 16, chunk: (32 << 10)...(32 << 10), away: 30_000_000...32_000_000)
    let hungry = [RateClient(id: ids[1], weight: 1), RateClient(id: ids[2], weight: 1)]
    var simulation = Simulation(rate: rate, [slow] + hungry, seed: 3)
    simulation.run(until: 31 * Self.second)
    let parts = ids[0...2].map {
      simulation.part(of: $0, of: rate, from: Self.second, to: 31 * Self.second)
    }
    #expect((0.08...0.11).contains(parts[0]), "\(parts)")
    #expect(parts.reduce(0, +) >= 0.98 && parts.reduce(0, +) <= 1.02, "\(parts)")
    #expect(abs(parts[1] / parts[2] - 1) < 0.05, "\(parts)")
  }

  @Test func `An idle transfer saves up no share, and an ended one frees its share`() {
    let rate: Int64 = 2 << 20
    var late = RateClient(id: ids[0], weight: 4)
    late.from = 20 * Self.second
    late.until = 40 * Self.second
    var simulation = Simulation(rate: rate, [late, RateClient(id: ids[1], weight: 4)], seed: 4)
    simulation.run(until: 60 * Self.second)
    func part(_ index: Int, _ from: Int64, _ to: Int64) -> Double {
      simulation.part(of: ids[index], of: rate, from: from * Self.second, to: to * Self.second)
    }
    #expect((0.98...1.02).contains(part(1, 1, 20)))
    #expect((0.42...0.58).contains(part(0, 20, 22)))
    #expect((0.475...0.525).contains(part(0, 20, 40)))
    #expect((0.98...1.02).contains(part(1, 41, 60)))
  }

  @Test func `Many short transfers do not starve a long one`() {
    let rate: Int64 = 1 << 20
    // Each comes once, and there is always another one.
    let short = ids[1...3].map {
      RateClient(id: $0, weight: 4, chunk: (10 << 10)...(10 << 10), isFresh: true)
    }
    let long = RateClient(id: ids[0], weight: 4, chunk: (40 << 10)...(40 << 10))
    var simulation = Simulation(rate: rate, [long] + short, seed: 6)
    simulation.run(until: 10 * Self.second)
    let part = simulation.part(of: ids[0], of: rate, from: Self.second, to: 10 * Self.second)
    #expect((0.15...0.5).contains(part), "\(part)")
  }

  @Test func `The grants of any ten seconds match the rate`() {
    for seed in UInt64(0)..<3 {
      let rate: Int64 = 100 << 10
      let takers = (0..<5).map { RateClient(id: ids[$0], weight: 1 << $0, away: 0...3_000_000) }
      var simulation = Simulation(rate: rate, takers, seed: seed)
      simulation.run(until: 40 * Self.second)
      for start in stride(from: Self.second, through: 29 * Self.second, by: 333_333_333) {
        let all = ids[0..<5].reduce(0.0) {
          $0 + simulation.part(of: $1, of: rate, from: start, to: start + 10 * Self.second)
        }
        #expect((0.98...1.02).contains(all), "seed \(seed), from \(start) ns: \(all)")
      }
    }
  }

  @Test func `Requests of one transfer are served in order, and withdrawn ones are skipped`() {
    var share = RateFairQueue(rate: 1_000_000, at: Instant())
    let tickets = (0..<4).map { _ in
      share.ask(upTo: 50_000, for: ids[0], weight: 4, at: Instant())
    }
    check(share.due(at: Instant()).map(\.ticket), is: [tickets[0]])
    share.withdraw(tickets[1])
    #expect(!share.isWaiting(tickets[1]) && share.isWaiting(tickets[2]))
    let next = share.nextDue(at: Instant())
    #expect(next?.ticket == tickets[2] && next?.instant == Instant(.milliseconds(50)))
    check(share.due(at: Instant(.milliseconds(49))).isEmpty, is: true)
    check(share.due(at: Instant(.milliseconds(100))).map(\.ticket), is: [tickets[2], tickets[3]])
    #expect(share.nextDue(at: Instant())?.ticket == nil)
  }

  @Test func `Removing the limit serves all waiting requests, and a new limit applies to them`() {
    var share = RateFairQueue(rate: 1_000, at: Instant())
    let tickets = ids.map { share.ask(upTo: .max, for: $0, weight: 4, at: Instant()) }
    check(share.due(at: Instant()).map(\.bytes), is: [150])
    share.setRate(10_000, at: Instant())
    check(share.due(at: Instant(.milliseconds(150))).map(\.bytes), is: [1500])
    share.setRate(nil, at: Instant(.milliseconds(150)))
    let free = share.due(at: Instant(.milliseconds(150)))
    #expect(free.map(\.ticket) == Array(tickets[2...]))
    #expect(free.allSatisfy { $0.bytes == .max })
  }
}
