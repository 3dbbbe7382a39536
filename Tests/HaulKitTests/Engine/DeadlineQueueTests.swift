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
  private struct ModelState {
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
    let stage = ModelState()
    for (key, second) in [("c", 3), ("a", 1), ("d", 4), ("b", 2)] { stage.set(key, second) }
    stage.run(until: 3)
    #expect(stage.calls == [Call(1, "a"), Call(2, "b"), Call(3, "c")])
    #expect(stage.deadlines.instant(of: "c") == nil, "it has fired")
    #expect(stage.deadlines.instant(of: "d") == Instant() + .seconds(4))
    stage.run(until: 100)
    #expect(stage.calls.last == Call(4, "d"))
    #expect(stage.time.clock.sleeperCount == 0, "no timer without a key")
  }

  @Test func `An earlier instant set while the timer runs fires first, and later ones stay`() {
    let stage = ModelState()
    stage.set("late", 10)
    stage.run(until: 1)
    stage.set("early", 2)
    stage.run(until: 2)
    #expect(stage.calls == [Call(2, "early")])
    stage.run(until: 20)
    #expect(stage.calls == [Call(2, "early"), Call(10, "late")])
  }

  @Test func `A key that is set again fires only at its new instant`() {
    let stage = ModelState()
    stage.set("later", 2)
    stage.set("later", 5)
    stage.set("earlier", 9)
    stage.run(until: 1)
    stage.set("earlier", 3)
    stage.set("same", 4)
    stage.set("same", 4)
    #expect(stage.deadlines.instant(of: "later") == Instant() + .seconds(5))
    stage.run(until: 100)
    #expect(stage.calls == [Call(3, "earlier"), Call(4, "same"), Call(5, "later")])
  }

  @Test func `A removed key does not fire, and can be set again`() {
    let stage = ModelState()
    stage.set("a", 1)
    stage.set("b", 2)
    stage.set("a", nil)
    stage.set("unknown", nil)
    #expect(stage.deadlines.instant(of: "a") == nil)
    stage.run(until: 3)
    #expect(stage.calls == [Call(2, "b")])
    stage.set("a", 4)
    stage.run(until: 100)
    #expect(stage.calls == [Call(2, "b"), Call(4, "a")])
  }

  @Test func `Keys due at the same instant fire in one call, in order`() {
    let stage = ModelState()
    for key in ["x", "y", "z"] { stage.set(key, 2) }
    stage.set("w", 1)
    // After it is set again, it comes behind the others of the same instant.
    stage.set("x", 5)
    stage.set("x", 2)
    // A clock that jumps, as on a machine that slept.
    stage.time.settle()
    stage.time.clock.advance(by: .seconds(3))
    stage.time.settle()
    #expect(stage.calls == [Call(3, "w", "y", "z", "x")])
  }

  @Test func `A key set to a past instant fires at once`() {
    let stage = ModelState()
    stage.run(until: 5)
    stage.set("a", 2)
    stage.time.settle()
    #expect(stage.calls == [Call(5, "a")])
  }

  @Test func `Any number of keys uses one timer`() {
    let stage = ModelState()
    for second in (1...500).reversed() { stage.set("\(second)", second) }
    stage.time.settle()
    #expect(stage.time.clock.sleeperCount == 1)
    for second in 1...500 where second % 2 == 0 { stage.set("\(second)", nil) }
    for second in 1...500 where second % 5 == 0 { stage.set("\(second)", second + 500) }
    for second in stride(from: 10, through: 490, by: 10) {
      stage.run(until: second)
      #expect(stage.time.clock.sleeperCount == 1)
    }
    stage.run(until: 2000)
    #expect(stage.calls.count == 200 + 100)
    #expect(stage.calls.map(\.at) == stage.calls.map(\.at).sorted())
    #expect(stage.time.clock.sleeperCount == 0)
  }

  @Test func `The handler can set and remove keys`() {
    let stage = ModelState { deadlines, keys in
      guard keys == ["tick"], deadlines.instant(of: "other") != nil else { return }
      deadlines.set("other", to: nil)
      deadlines.set("now", to: Instant())
      deadlines.set("tick", to: Instant() + .seconds(4))
    }
    stage.set("tick", 1)
    stage.set("other", 2)
    stage.run(until: 4)
    #expect(stage.calls == [Call(1, "tick"), Call(1, "now"), Call(4, "tick")])
  }

  @Test func `After stop no key fires, no key is accepted, and no timer runs`() {
    let stage = ModelState()
    stage.set("a", 1)
    stage.run(until: 0)
    stage.deadlines.stop()
    stage.set("b", 2)
    #expect(stage.deadlines.instant(of: "a") == nil)
    #expect(stage.deadlines.instant(of: "b") == nil)
    stage.run(until: 100)
    #expect(stage.calls.isEmpty)
    #expect(stage.time.clock.sleeperCount == 0)
    stage.deadlines.stop()
  }

  @Test func `A timer that fires while the queue stops calls no handler`() {
    let stage = ModelState()
    stage.set("a", 1)
    stage.time.settle()
    // Its task runs after this.
    stage.time.clock.advance(by: .seconds(1))
    stage.deadlines.stop()
    stage.time.settle()
    #expect(stage.calls.isEmpty)
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
