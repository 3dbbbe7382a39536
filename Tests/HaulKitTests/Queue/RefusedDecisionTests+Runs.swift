import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Starts and ends, which no command caused: they are stored again by themselves a second later.
extension RefusedDecisionTests {
  private func refusals(_ scene: SimulatedManager) -> Int {
    scene.ledger.withLockedValue { $0.trace.count { $0 == "the store refuses" } }
  }

  @Test(arguments: [false, true])
  func `An end that the store refuses is stored a second later, and frees its slot then`(
    fails: Bool
  ) throws {
    let scene = SimulatedManager()
    let requests = ["a", "b"].map { scene.step($0, turns: 1) }
    scene.plans.withLockedValue { $0["a"]?.alwaysFails = fails }
    let added = try scene.call { try await $0.add(requests) }
    scene.process.store.behaviours.changesUntilRefusal = 0
    for _ in 0..<1000 where refusals(scene) == 0 { scene.pass(.milliseconds(1)) }
    #expect(try added.map { try scene.state($0) } == [.running, .queued])
    #expect(try scene.disagreements().isEmpty)
    scene.pass(.milliseconds(998))
    #expect(try scene.state(added[0]) == .running)
    scene.pass(.milliseconds(2))
    #expect(try added.map { try scene.state($0) } == [fails ? .failed : .completed, .running])
    #expect(try scene.disagreements().isEmpty)
    #expect(refusals(scene) == 1)
    try scene.runOut()
    #expect(try scene.state(added[1]) == .completed)
    try scene.end()
  }

  @Test func `A pause returns only when its end is stored`() throws {
    let scene = SimulatedManager()
    let request = scene.step("a", turns: 20, isPatient: true)
    let step = try scene.call { try await $0.add(request) }
    scene.process.store.behaviours.changesUntilRefusal = 1
    scene.send(.pause, step)
    for _ in 0..<1000 where refusals(scene) == 0 { scene.pass(.milliseconds(1)) }
    #expect(try scene.state(step) == .stopping)
    #expect(try scene.disagreements().isEmpty)
    #expect(scene.ledger.withLockedValue { $0.orders.count } == 1, "it has not returned")
    scene.pass(.seconds(1))
    #expect(try scene.state(step) == .paused)
    #expect(try scene.disagreements().isEmpty)
    #expect(scene.ledger.withLockedValue { $0.orders.isEmpty })
    try scene.end()
  }

  @Test func `A start that the store refuses is repeated a second later, in order`() throws {
    let scene = SimulatedManager(active: 2)
    try scene.call { await $0.suspend() }
    let requests = ["a", "b", "c"].map { scene.step($0, turns: 2) }
    let added = try scene.call { try await $0.add(requests) }
    scene.process.store.behaviours.changesUntilRefusal = 0
    try scene.call { await $0.unsuspend() }
    #expect(try added.map { try scene.state($0) } == [.queued, .queued, .queued])
    #expect(try scene.disagreements().isEmpty)
    scene.pass(.milliseconds(999))
    #expect(try scene.state(added[0]) == .queued)
    scene.pass(.milliseconds(1))
    #expect(try added.map { try scene.state($0) } == [.running, .running, .queued])
    #expect(refusals(scene) == 1)
    try scene.runOut()
    try scene.end()
  }

  @Test func `A store that refuses for a minute is tried once a second, and not read again`() throws
  {
    let scene = SimulatedManager(active: 20)
    try scene.call { try await $0.open() }
    let requests = (0..<500).map { scene.step("s\($0)", turns: 2) }
    _ = try scene.call { try await $0.add(requests) }
    scene.refuseChanges(true)
    let before = scene.process.store.counts.commits
    scene.pass(.seconds(60))
    let tried = scene.process.store.counts.commits - before
    #expect(tried <= 62, "it is not tried for each end")
    #expect(tried >= 50, "it is tried")
    #expect(try scene.disagreements().isEmpty)
    scene.refuseChanges(false)
    try scene.runOut()
    #expect(try scene.call { await $0.counts } == [.completed: 500])
    #expect(scene.process.store.counts.opens == 1, "nothing is read again")
    try scene.end()
  }

  /// The number of commits in three seconds, with a store that takes half a second for each and
  /// refuses it.
  private func tries(_ scene: SimulatedManager, _ begin: () -> Void = {}) throws -> Int {
    scene.process.store.behaviours.timeOfChange = .milliseconds(500)
    scene.refuseChanges(true)
    let before = scene.process.store.counts.commits
    begin()
    scene.pass(.seconds(3))
    let tried = scene.process.store.counts.commits - before
    scene.process.store.behaviours.timeOfChange = nil
    scene.refuseChanges(false)
    try scene.runOut()
    try scene.end()
    return tried
  }

  @Test func `Ends that arrive during a refused change cause no extra changes`() throws {
    let scene = SimulatedManager(active: 20)
    let requests = (0..<40).map { scene.step("s\($0)", turns: 1) }
    _ = try scene.call { try await $0.add(requests) }
    #expect(try tries(scene) <= 3)
  }

  @Test func `Starts that wait during a refused change cause no extra changes`() throws {
    let scene = SimulatedManager(active: 20)
    try scene.call { await $0.suspend() }
    let requests = (0..<5).map { scene.step("s\($0)", turns: 1) }
    _ = try scene.call { try await $0.add(requests) }
    let tried = try tries(scene) {
      for _ in 0..<10 { scene.begin { await $0.unsuspend() } }
    }
    #expect(tried <= 3)
  }

  @Test func `A change that outlasts the shutdown does no harm`() throws {
    let scene = SimulatedManager(active: 2)
    let requests = ["a", "b"].map { scene.step($0, turns: 20, isPatient: true) }
    _ = try scene.call { try await $0.add(requests) }
    scene.process.store.behaviours.timeOfChange = .seconds(10)
    try scene.end()
  }

  /// A life with each kind of decision; refused commands are repeated.
  private func live(_ scene: SimulatedManager) throws -> [String] {
    let settle = {
      for _ in 0..<20 {
        scene.pass(.milliseconds(5))
        guard !scene.process.store.isBusy else { continue }
        let found = try scene.disagreements(["g"], ["a", "b", "c", "d"])
        #expect(found.isEmpty)
        guard found.isEmpty else { return }
      }
    }
    let insist = { (body: () throws -> Void) in
      do { try body() } catch let error as TransferError where error.code == .io {
        try settle()
        try body()
      }
      try settle()
    }
    var requests = [
      scene.step("a", turns: 3, isPatient: true), try scene.download("b", length: 400 << 10),
      scene.step("c", turns: 1), scene.step("d", turns: 2), scene.step("e", turns: 2),
    ]
    for (index, name) in ["a", "b", "c", "d", "e"].enumerated() {
      (requests[index].identifier, requests[index].group) = (name, index % 2 == 0 ? "g" : nil)
    }
    requests[2].after = [.identifier("a")]
    let added = requests
    try insist { _ = try scene.call { try await $0.add(added, key: "k") } }
    let ids = try scene.call { await $0.summaries().map(\.id) }
    let one = { (index: Int) in TransferSelection.ids([ids[index]]) }
    try insist { try scene.order(.pause, one(1)) }
    try insist { _ = try scene.call { try await $0.move([ids[3]], to: .first) } }
    try insist { _ = try scene.call { try await $0.setPriority(.utility, of: .group("g")) } }
    try insist { _ = try scene.call { try await $0.set([ids[2]]) { $0.priority = .utility } } }
    try insist { try scene.order(.resume, one(1)) }
    try insist { try scene.order(.cancelKeepingBytes, .group("g")) }
    try insist { try scene.order(.retry, .group("g")) }
    try insist { try scene.order(.restart, one(1)) }
    try insist { try scene.order(.force, one(2)) }
    try insist { try scene.order(.remove, one(4)) }
    try insist { try scene.order(.cancel, one(3)) }
    try insist { try scene.order(.restart, one(3)) }
    try scene.runOut()
    try settle()
    let summaries = try scene.call { await $0.summaries() }
    try scene.end()
    return summaries.map { "\($0.identifier ?? "") \($0.state) \($0.priority)" }
  }

  @Test(arguments: [false, true])
  func `Memory and store agree after the refusal of any change, with the same result`(
    isSlow: Bool
  ) throws {
    var number = 0
    while true {
      let scene = SimulatedManager(active: 2, portionSize: 2)
      scene.ledger.withLockedValue { $0.moves = 1 }
      scene.process.store.behaviours.isSlow = isSlow
      scene.process.store.behaviours.changesUntilRefusal = number
      let end = try live(scene)
      #expect(
        end == [
          "d completed default", "a completed utility", "b completed default",
          "c completed utility",
        ],
        "change \(number) was refused")
      guard scene.process.store.behaviours.changesUntilRefusal == nil else { break }
      number += 1
    }
    #expect(number > 15)
  }
}
