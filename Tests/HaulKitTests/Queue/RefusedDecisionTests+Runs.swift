import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Starts and ends, which no command caused: they are stored again by themselves a second later.
extension RefusedDecisionTests {
  private func refusals(_ simulation: SimulatedManager) -> Int {
    simulation.ledger.withLockedValue { $0.trace.count { $0 == "the store refuses" } }
  }

  private func waitReason(
    _ simulation: SimulatedManager, _ transfer: Transfer
  ) throws -> WaitReason? {
    try simulation.call { _ in await transfer.waitReason }
  }

  @Test(arguments: [false, true])
  func `An end that the store refuses is stored a second later, and frees its slot then`(
    fails: Bool
  ) throws {
    let simulation = SimulatedManager()
    let requests = ["a", "b"].map { simulation.step($0, turns: 1) }
    simulation.plans.withLockedValue { $0["a"]?.alwaysFails = fails }
    let added = try simulation.call { try await $0.add(requests) }
    simulation.process.store.behaviours.changesUntilRefusal = 0
    for _ in 0..<1000 where refusals(simulation) == 0 { simulation.pass(.milliseconds(1)) }
    #expect(try added.map { try simulation.state($0) } == [.running, .queued])
    #expect(try waitReason(simulation, added[0]) == .listNotStored)
    #expect(try simulation.disagreements().isEmpty)
    simulation.pass(.milliseconds(998))
    #expect(try simulation.state(added[0]) == .running)
    simulation.pass(.milliseconds(2))
    #expect(try added.map { try simulation.state($0) } == [fails ? .failed : .completed, .running])
    #expect(try simulation.disagreements().isEmpty)
    #expect(refusals(simulation) == 1)
    try simulation.runOut()
    #expect(try simulation.state(added[1]) == .completed)
    #expect(try waitReason(simulation, added[0]) == nil)
    try simulation.end()
  }

  @Test func `A pause returns only when its end is stored`() throws {
    let simulation = SimulatedManager()
    let request = simulation.step("a", turns: 20, isPatient: true)
    let step = try simulation.call { try await $0.add(request) }
    simulation.process.store.behaviours.changesUntilRefusal = 1
    simulation.send(.pause, step)
    for _ in 0..<1000 where refusals(simulation) == 0 { simulation.pass(.milliseconds(1)) }
    #expect(try simulation.state(step) == .stopping)
    #expect(try waitReason(simulation, step) == .listNotStored)
    #expect(try simulation.disagreements().isEmpty)
    #expect(simulation.ledger.withLockedValue { $0.orders.count } == 1, "it has not returned")
    simulation.pass(.seconds(1))
    #expect(try simulation.state(step) == .paused)
    #expect(try simulation.disagreements().isEmpty)
    #expect(simulation.ledger.withLockedValue { $0.orders.isEmpty })
    try simulation.end()
  }

  @Test func `A start that the store refuses is repeated a second later, in order`() throws {
    let simulation = SimulatedManager(active: 2)
    try simulation.call { await $0.suspend() }
    let requests = ["a", "b", "c"].map { simulation.step($0, turns: 2) }
    let added = try simulation.call { try await $0.add(requests) }
    simulation.process.store.behaviours.changesUntilRefusal = 0
    try simulation.call { await $0.unsuspend() }
    #expect(try added.map { try simulation.state($0) } == [.queued, .queued, .queued])
    #expect(try waitReason(simulation, added[0]) == .listNotStored)
    #expect(try simulation.disagreements().isEmpty)
    simulation.pass(.milliseconds(999))
    #expect(try simulation.state(added[0]) == .queued)
    simulation.pass(.milliseconds(1))
    #expect(try added.map { try simulation.state($0) } == [.running, .running, .queued])
    #expect(refusals(simulation) == 1)
    try simulation.runOut()
    try simulation.end()
  }

  @Test func `A store that refuses for a minute is tried once a second, and not read again`() throws
  {
    let simulation = SimulatedManager(active: 20)
    try simulation.call { try await $0.coordinator.open() }
    let requests = (0..<500).map { simulation.step("s\($0)", turns: 2) }
    _ = try simulation.call { try await $0.add(requests) }
    simulation.refuseChanges(true)
    let before = simulation.process.store.counts.commits
    simulation.pass(.seconds(60))
    let tried = simulation.process.store.counts.commits - before
    #expect(tried <= 62, "it is not tried for each end")
    #expect(tried >= 50, "it is tried")
    #expect(try simulation.disagreements().isEmpty)
    simulation.refuseChanges(false)
    try simulation.runOut()
    #expect(try simulation.call { await $0.counts } == [.completed: 500])
    #expect(simulation.process.store.counts.opens == 1, "nothing is read again")
    try simulation.end()
  }

  /// The number of commits in three seconds, with a store that takes half a second for each and
  /// refuses it.
  private func tries(_ simulation: SimulatedManager, _ begin: () -> Void = {}) throws -> Int {
    simulation.process.store.behaviours.timeOfChange = .milliseconds(500)
    simulation.refuseChanges(true)
    let before = simulation.process.store.counts.commits
    begin()
    simulation.pass(.seconds(3))
    let tried = simulation.process.store.counts.commits - before
    simulation.process.store.behaviours.timeOfChange = nil
    simulation.refuseChanges(false)
    try simulation.runOut()
    try simulation.end()
    return tried
  }

  @Test func `Ends that arrive during a refused change cause no extra changes`() throws {
    let simulation = SimulatedManager(active: 20)
    let requests = (0..<40).map { simulation.step("s\($0)", turns: 1) }
    _ = try simulation.call { try await $0.add(requests) }
    #expect(try tries(simulation) <= 3)
  }

  @Test func `Starts that wait during a refused change cause no extra changes`() throws {
    let simulation = SimulatedManager(active: 20)
    try simulation.call { await $0.suspend() }
    let requests = (0..<5).map { simulation.step("s\($0)", turns: 1) }
    _ = try simulation.call { try await $0.add(requests) }
    let tried = try tries(simulation) {
      for _ in 0..<10 { simulation.begin { await $0.unsuspend() } }
    }
    #expect(tried <= 3)
  }

  @Test func `A change that outlasts the shutdown does no harm`() throws {
    let simulation = SimulatedManager(active: 2)
    let requests = ["a", "b"].map { simulation.step($0, turns: 20, isPatient: true) }
    _ = try simulation.call { try await $0.add(requests) }
    simulation.process.store.behaviours.timeOfChange = .seconds(10)
    try simulation.end()
  }

  /// A life with each kind of decision; refused commands are repeated.
  private func live(_ simulation: SimulatedManager) throws -> [String] {
    let settle = {
      for _ in 0..<20 {
        simulation.pass(.milliseconds(5))
        guard !simulation.process.store.isBusy else { continue }
        let found = try simulation.disagreements(["g"], ["a", "b", "c", "d"])
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
      simulation.step("a", turns: 3, isPatient: true),
      try simulation.download("b", length: 400 << 10),
      simulation.step("c", turns: 1), simulation.step("d", turns: 2),
      simulation.step("e", turns: 2),
    ]
    for (index, name) in ["a", "b", "c", "d", "e"].enumerated() {
      (requests[index].identifier, requests[index].group) = (name, index % 2 == 0 ? "g" : nil)
    }
    requests[2].after = ["a"]
    let added = requests
    try insist { _ = try simulation.call { try await $0.add(added, key: "k") } }
    let ids = try simulation.call { await $0.summaries().map(\.id) }
    let one = { (index: Int) in TransferSelection.ids([ids[index]]) }
    try insist { try simulation.order(.pause, one(1)) }
    try insist { _ = try simulation.call { try await $0.move([ids[3]], to: .first) } }
    try insist { _ = try simulation.call { try await $0.setPriority(.utility, of: .group("g")) } }
    try insist { _ = try simulation.call { try await $0.set([ids[2]]) { $0.priority = .utility } } }
    try insist { try simulation.order(.resume, one(1)) }
    try insist { try simulation.order(.cancelKeepingBytes, .group("g")) }
    try insist { try simulation.order(.retry, .group("g")) }
    try insist { try simulation.order(.restart, one(1)) }
    try insist { try simulation.order(.force, one(2)) }
    try insist { try simulation.order(.remove, one(4)) }
    try insist { try simulation.order(.cancel, one(3)) }
    try insist { try simulation.order(.restart, one(3)) }
    try simulation.runOut()
    try settle()
    let summaries = try simulation.call { await $0.summaries() }
    try simulation.end()
    return summaries.map { "\($0.identifier ?? "") \($0.state) \($0.priority)" }
  }

  @Test(arguments: [false, true])
  func `Memory and store agree after the refusal of any change, with the same result`(
    isSlow: Bool
  ) throws {
    var number = 0
    while true {
      let simulation = SimulatedManager(active: 2, portionSize: 2)
      simulation.ledger.withLockedValue { $0.moves = 1 }
      simulation.process.store.behaviours.isSlow = isSlow
      simulation.process.store.behaviours.changesUntilRefusal = number
      let end = try live(simulation)
      #expect(
        end == [
          "d completed default", "a completed utility", "b completed default",
          "c completed utility",
        ],
        "change \(number) was refused")
      guard simulation.process.store.behaviours.changesUntilRefusal == nil else { break }
      number += 1
    }
    #expect(number > 15)
  }
}
