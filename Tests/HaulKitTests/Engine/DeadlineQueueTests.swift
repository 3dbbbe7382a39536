import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Many instants under keys and one timer, with a clock that only the test moves.
@Suite struct DeadlineQueueTests {
  /// A call of the handler, with its time.
  private struct Call: Equatable, Sendable, CustomStringConvertible {
    let at: Int
    let keys: [String]

    init(_ at: Int, _ keys: String...) { (self.at, self.keys) = (at, keys) }

    fileprivate init(_ now: Instant, _ keys: [String]) {
      (at, self.keys) = (Int(now.sinceStart / .seconds(1)), keys)
    }

    var description: String { "\(keys) at \(at)" }
  }

  /// A queue in virtual time.
  private struct DeadlineFixture {
    let time = VirtualTime()
    let deadlines: DeadlineQueue<String>
    private let heard = NIOLockedValueBox<[Call]>([])

    init(_ onCall: @escaping @Sendable (DeadlineQueue<String>, [String]) -> Void = { _, _ in }) {
      deadlines = DeadlineQueue(clock: time.clock, executor: time)
      let (clock, heard) = (time.clock, heard)
      deadlines.begin { [weak deadlines] keys in
        heard.withLockedValue { $0.append(Call(clock.now, keys)) }
        if let deadlines { onCall(deadlines, keys) }
      }
    }

    var calls: [Call] { heard.withLockedValue { $0 } }

    func set(_ key: String, _ second: Int?) {
      deadlines.set(key, to: second.map { Instant() + .seconds($0) })
    }

    func run(until second: Int) { time.run(until: Instant() + .seconds(second)) }
  }

  @Test func `Keys fire at their instants, the earliest first, in any order of setting`() {
    let fixture = DeadlineFixture()
    for (key, second) in [("c", 3), ("a", 1), ("d", 4), ("b", 2)] { fixture.set(key, second) }
    fixture.run(until: 3)
    #expect(fixture.calls == [Call(1, "a"), Call(2, "b"), Call(3, "c")])
    #expect(fixture.deadlines.instant(of: "c") == nil, "it has fired")
    #expect(fixture.deadlines.instant(of: "d") == Instant() + .seconds(4))
    fixture.run(until: 100)
    #expect(fixture.calls.last == Call(4, "d"))
    #expect(fixture.time.clock.sleeperCount == 0, "no timer without a key")
  }

  @Test func `An earlier instant set while the timer runs fires first, and later ones stay`() {
    let fixture = DeadlineFixture()
    fixture.set("late", 10)
    fixture.run(until: 1)
    fixture.set("early", 2)
    fixture.run(until: 2)
    #expect(fixture.calls == [Call(2, "early")])
    fixture.run(until: 20)
    #expect(fixture.calls == [Call(2, "early"), Call(10, "late")])
  }

  @Test func `A key that is set again fires only at its new instant`() {
    let fixture = DeadlineFixture()
    fixture.set("later", 2)
    fixture.set("later", 5)
    fixture.set("earlier", 9)
    fixture.run(until: 1)
    fixture.set("earlier", 3)
    fixture.set("same", 4)
    fixture.set("same", 4)
    #expect(fixture.deadlines.instant(of: "later") == Instant() + .seconds(5))
    fixture.run(until: 100)
    #expect(fixture.calls == [Call(3, "earlier"), Call(4, "same"), Call(5, "later")])
  }

  @Test func `A removed key does not fire, and can be set again`() {
    let fixture = DeadlineFixture()
    fixture.set("a", 1)
    fixture.set("b", 2)
    fixture.set("a", nil)
    fixture.set("unknown", nil)
    #expect(fixture.deadlines.instant(of: "a") == nil)
    fixture.run(until: 3)
    #expect(fixture.calls == [Call(2, "b")])
    fixture.set("a", 4)
    fixture.run(until: 100)
    #expect(fixture.calls == [Call(2, "b"), Call(4, "a")])
  }

  @Test func `Keys due at the same instant fire in one call, in order`() {
    let fixture = DeadlineFixture()
    for key in ["x", "y", "z"] { fixture.set(key, 2) }
    fixture.set("w", 1)
    // After it is set again, it comes behind the others of the same instant.
    fixture.set("x", 5)
    fixture.set("x", 2)
    // A clock that jumps, as on a machine that slept.
    fixture.time.settle()
    fixture.time.clock.advance(by: .seconds(3))
    fixture.time.settle()
    #expect(fixture.calls == [Call(3, "w", "y", "z", "x")])
  }

  @Test func `A key set to a past instant fires at once`() {
    let fixture = DeadlineFixture()
    fixture.run(until: 5)
    fixture.set("a", 2)
    fixture.time.settle()
    #expect(fixture.calls == [Call(5, "a")])
  }

  @Test func `Any number of keys uses one timer`() {
    let fixture = DeadlineFixture()
    for second in (1...500).reversed() { fixture.set("\(second)", second) }
    fixture.time.settle()
    #expect(fixture.time.clock.sleeperCount == 1)
    for second in 1...500 where second % 2 == 0 { fixture.set("\(second)", nil) }
    for second in 1...500 where second % 5 == 0 { fixture.set("\(second)", second + 500) }
    for second in stride(from: 10, through: 490, by: 10) {
      fixture.run(until: second)
      #expect(fixture.time.clock.sleeperCount == 1)
    }
    fixture.run(until: 2000)
    #expect(fixture.calls.count == 200 + 100)
    #expect(fixture.calls.map(\.at) == fixture.calls.map(\.at).sorted())
    #expect(fixture.time.clock.sleeperCount == 0)
  }

  @Test func `The handler can set and remove keys`() {
    let fixture = DeadlineFixture { deadlines, keys in
      guard keys == ["tick"], deadlines.instant(of: "other") != nil else { return }
      deadlines.set("other", to: nil)
      deadlines.set("now", to: Instant())
      deadlines.set("tick", to: Instant() + .seconds(4))
    }
    fixture.set("tick", 1)
    fixture.set("other", 2)
    fixture.run(until: 4)
    #expect(fixture.calls == [Call(1, "tick"), Call(1, "now"), Call(4, "tick")])
  }

  @Test func `After stop no key fires, no key is accepted, and no timer runs`() {
    let fixture = DeadlineFixture()
    fixture.set("a", 1)
    fixture.run(until: 0)
    fixture.deadlines.stop()
    fixture.set("b", 2)
    #expect(fixture.deadlines.instant(of: "a") == nil)
    #expect(fixture.deadlines.instant(of: "b") == nil)
    fixture.run(until: 100)
    #expect(fixture.calls.isEmpty)
    #expect(fixture.time.clock.sleeperCount == 0)
    fixture.deadlines.stop()
  }

  @Test func `A timer that fires while the queue stops calls no handler`() {
    let fixture = DeadlineFixture()
    fixture.set("a", 1)
    fixture.time.settle()
    // Its task runs after this.
    fixture.time.clock.advance(by: .seconds(1))
    fixture.deadlines.stop()
    fixture.time.settle()
    #expect(fixture.calls.isEmpty)
  }

  @Test func `A released deadline queue ends its timer`() {
    let time = VirtualTime()
    do {
      let deadlines = DeadlineQueue<Int>(clock: time.clock, executor: time)
      deadlines.set(1, to: Instant() + .seconds(1))
      time.settle()
      #expect(time.clock.sleeperCount == 1)
    }
    time.settle()
    #expect(time.clock.sleeperCount == 0)
  }
}
