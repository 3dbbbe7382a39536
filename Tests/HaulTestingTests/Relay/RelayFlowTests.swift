import HaulTesting
import NIOCore
import Testing

private let buffer = RelayFlow.bufferSize
private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

/// When a relay sends bytes.
@Suite
struct RelayFlowTests {
  @Test func `at most a window is in transit, and an acknowledgement allows more`() {
    var flow = RelayFlow(window: 100_000, rate: nil, start: start)
    #expect(flow.turn(held: 1_000_000, now: start) == .send(buffer))
    flow.sent(buffer)
    #expect(flow.turn(held: 1_000_000, now: start) == .send(100_000 - buffer))
    flow.sent(100_000 - buffer)
    #expect(flow.turn(held: 1_000_000, now: start) == .blocked)
    flow.acknowledged(10)
    #expect(flow.turn(held: 1_000_000, now: start) == .send(10))
    #expect(flow.turn(held: 3, now: start) == .send(3))
  }

  @Test func `nothing leaves before the start`() {
    var flow = RelayFlow(window: buffer, rate: nil, start: start)
    #expect(flow.turn(held: 1, now: start - .nanoseconds(1)) == .wait(start))
    #expect(flow.turn(held: 1, now: start) == .send(1))
  }

  @Test(arguments: [65536, 4 << 20, 100 << 20])
  func `a rate of N sends N bytes in a second, no more`(_ rate: Int64) {
    var flow = RelayFlow(window: .max, rate: rate, start: start)
    let end = start + .seconds(1)
    var (now, passed) = (start, Int64(0))
    while now < end {
      switch flow.turn(held: .max, now: now) {
      case .send(let count):
        #expect(count <= buffer)
        flow.sent(count)
        passed += Int64(count)
      case .wait(let due): now = due
      case .blocked:
        Issue.record("nothing blocks")
        return
      }
    }
    // The first piece leaves at once.
    #expect(rate...(rate + rate / 20) ~= passed)
  }

  @Test func `a connection has its own rate, or that of all`() {
    var rules = RelayRules()
    #expect(rules.rate(ofConnection: 1) == nil)
    rules.rate = 100
    rules.rates = [3: 7]
    #expect([1, 2, 3, 4].map { rules.rate(ofConnection: $0) } == [100, 100, 7, 100])
  }
}

/// A relay's total rate.
@Suite
struct TotalRateTests {
  private let rates = RelayRules.TotalRate(64 << 20, above: [4: 16 << 20, 8: 4 << 20])

  @Test func `depends on the number of open connections`() {
    #expect([0, 4, 5, 8, 9, 100].map { rates.rate(open: $0) >> 20 } == [64, 64, 16, 16, 4, 4])
  }

  /// Bytes by connection after some time in which each requests its next turn at once.
  private func run(_ connections: Int, for time: TimeAmount) -> [Int] {
    var total = TotalRateState(rates, now: start)
    total.open = connections
    for number in 0..<connections { total.ask(number) }
    var sent = Array(repeating: 0, count: connections)
    var now = start
    while true {
      switch total.turn(now) {
      case .grant(let number):
        sent[number] += buffer
        total.sent(buffer)
        total.ask(number)
      case .wait(let due) where due < start + time: now = due
      default: return sent
      }
    }
  }

  @Test(arguments: [1, 4, 5, 16])
  func `is shared evenly, and is lower in total with more connections`(_ connections: Int) throws {
    let sent = run(connections, for: .seconds(2))
    let wanted = Int(rates.rate(open: connections)) * 2
    #expect((wanted - buffer)...(wanted + buffer) ~= sent.reduce(0, +))
    #expect(try #require(sent.max()) - #require(sent.min()) <= buffer)
  }

  @Test func `a pause does not end in a burst`() {
    var total = TotalRateState(.init(1 << 20), now: start)
    let later = start + .hours(1)
    var sent = 0
    for _ in 0..<1000 {
      total.ask(1)
      guard case .grant = total.turn(later) else { break }
      total.sent(1024)
      sent += 1024
    }
    #expect(sent <= 32 * 1024)
  }

  @Test func `a connection with nothing to send costs nothing`() {
    var total = TotalRateState(.init(1), now: start)
    #expect(total.turn(start) == .idle)
    total.ask(1)
    #expect(total.turn(start) == .grant(1))
    total.sent(0)
    total.ask(2)
    #expect(total.turn(start) == .grant(2))
  }
}

/// A relay's resets.
@Suite
struct RelayDiceTests {
  private func resets(_ probability: Double, seed: UInt64, connection: Int = 1, pieces: [Int])
    -> [Int]
  {
    var rules = RelayRules()
    rules.resetProbability = probability
    rules.seed = seed
    var dice = RandomResets(rules, connection: connection)
    var (offset, found) = (0, [Int]())
    for piece in pieces {
      offset += piece
      if dice.resets(after: piece) { found.append(offset / buffer) }
    }
    return found
  }

  @Test func `come with the given probability`() {
    let whole = Array(repeating: buffer, count: 100_000)
    let count = resets(0.002, seed: 5, pieces: whole).count
    #expect(150...250 ~= count)
    #expect(resets(0, seed: 5, pieces: whole).isEmpty)
    #expect(resets(1, seed: 5, pieces: [buffer - 1, 1]) == [1])
  }

  @Test func `depend on seed and connection, not on how the bytes are divided`() {
    let whole = Array(repeating: buffer, count: 10_000)
    let halves = Array(repeating: buffer / 2, count: 20_000)
    let expected = resets(0.01, seed: 9, pieces: whole)
    #expect(resets(0.01, seed: 9, pieces: halves) == expected)
    #expect(resets(0.01, seed: 10, pieces: whole) != expected)
    #expect(resets(0.01, seed: 9, connection: 2, pieces: whole) != expected)
  }
}
