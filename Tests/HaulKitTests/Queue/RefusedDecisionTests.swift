import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// A refused change has no effect: memory and store agree, and the same command works a moment
/// later.
@Suite struct RefusedDecisionTests {
  private static let names = ["done", "failed", "runs", "paused", "waits", "behind", "cancelled"]
  private static let groups = ["g", "new"]

  /// A list with a member in each state, one of them running.
  private struct ListWithEveryState {
    let simulation: SimulatedManager
    var ids: [String: TransferID] = [:]

    init(portionSize: Int = QueueCoordinator.portionSize) throws {
      simulation = SimulatedManager(portionSize: portionSize)
      simulation.ledger.withLockedValue { $0.moves = 1 }
      try add(["done", "failed"])
      try simulation.runOut()
      try add(["runs", "paused", "waits", "behind", "cancelled"])
      try simulation.order(.pause, self["paused"])
      try simulation.order(.cancelKeepingBytes, self["cancelled"])
      #expect(
        try simulation.call { await $0.summaries().map(\.state) } == [
          .completed, .failed, .running, .paused, .queued, .queued, .cancelled,
        ])
    }

    private mutating func add(_ names: [String]) throws {
      let requests = names.map { name in
        var request = simulation.step(name, turns: name == "runs" ? 40 : 1, isPatient: true)
        (request.identifier, request.group) = (name, name == "waits" ? nil : "g")
        if name == "behind" { request.after = ["waits"] }
        return request
      }
      if names.contains("failed") {
        simulation.plans.withLockedValue { $0["failed"]?.alwaysFails = true }
      }
      for (name, transfer) in zip(names, try simulation.call { try await $0.add(requests) }) {
        ids[name] = transfer.id
      }
    }

    subscript(name: String) -> TransferSelection { .ids(ids[name].map { [$0] } ?? []) }

    func expectAgreement(_ sourceLocation: SourceLocation = #_sourceLocation) throws {
      let found = try simulation.disagreements(RefusedDecisionTests.groups, Self.all)
      #expect(found.isEmpty, sourceLocation: sourceLocation)
    }

    func visibleState() throws -> (list: VisibleListState, snapshots: [TransferSnapshot?]) {
      try simulation.visibleState(RefusedDecisionTests.groups, Self.all)
    }

    private static let all = RefusedDecisionTests.names + ["n"]
  }

  /// The next change is refused and has no effect; then `body` works, and all transfers end.
  private func refuse(
    _ everyState: ListWithEveryState, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
  ) throws {
    let simulation = everyState.simulation
    let before = try everyState.visibleState()
    simulation.process.store.behaviours.changesUntilRefusal = 0
    let error = #expect(throws: TransferError.self, sourceLocation: sourceLocation) { try body() }
    #expect(error?.code == .io, sourceLocation: sourceLocation)
    #expect(simulation.process.store.behaviours.changesUntilRefusal == nil)
    let after = try everyState.visibleState()
    #expect(after.list == before.list, sourceLocation: sourceLocation)
    #expect(after.snapshots == before.snapshots, sourceLocation: sourceLocation)
    try everyState.expectAgreement(sourceLocation)
    try body()
    #expect(try everyState.visibleState() != before, "it works now", sourceLocation: sourceLocation)
    try everyState.expectAgreement(sourceLocation)
    try simulation.runOut()
    try everyState.expectAgreement(sourceLocation)
    let counts = try everyState.visibleState().list.counts
    #expect((counts[.running] ?? 0) + (counts[.stopping] ?? 0) == 0)
    try simulation.end(sourceLocation: sourceLocation)
  }

  private static let commands: [(TransferMachine.Command, String)] = [
    (.pause, "runs"), (.pause, "waits"), (.pause, "behind"), (.resume, "paused"),
    (.requeue, "runs"), (.requeue, "paused"), (.cancel, "runs"), (.cancel, "waits"),
    (.cancel, "paused"), (.cancelKeepingBytes, "runs"), (.remove, "done"), (.remove, "runs"),
    (.remove, "waits"), (.retry, "failed"), (.retry, "cancelled"), (.restart, "done"),
    (.restart, "runs"), (.start, "paused"), (.force, "waits"),
    (.force, "paused"),
  ]

  @Test(arguments: commands)
  func `A refused command changes nothing, and works the next time`(
    command: TransferMachine.Command, name: String
  ) throws {
    let everyState = try ListWithEveryState()
    try refuse(everyState) { try everyState.simulation.order(command, everyState[name]) }
  }

  @Test(arguments: [TransferMachine.Command.pause, .cancel, .remove])
  func `A group command whose first portion is refused changes nothing`(
    command: TransferMachine.Command
  ) throws {
    let everyState = try ListWithEveryState(portionSize: 2)
    try refuse(everyState) { try everyState.simulation.order(command, .group("g")) }
  }

  @Test(arguments: 1...2)
  func `After a refused portion, memory and store keep the earlier portions`(
    portions: Int
  ) throws {
    let everyState = try ListWithEveryState(portionSize: 2)
    everyState.simulation.process.store.behaviours.changesUntilRefusal = portions
    #expect(throws: TransferError.self) { try everyState.simulation.order(.cancel, .group("g")) }
    try everyState.expectAgreement()
    #expect(try everyState.visibleState().list.groups["g"]?[3] ?? 0 < 5, "not all of them")
    try everyState.simulation.order(.cancel, .group("g"))
    #expect(try everyState.visibleState().list.groups["g"] == [6, 1, 0, 5])
    try everyState.simulation.runOut()
    try everyState.expectAgreement()
    try everyState.simulation.end()
  }

  @Test(arguments: [QueuePosition.first, .last])
  func `A refused move does not change the order`(position: QueuePosition) throws {
    let everyState = try ListWithEveryState()
    try refuse(everyState) {
      let selection = everyState["waits"]
      _ = try everyState.simulation.call { try await $0.move(selection, to: position) }
    }
  }

  @Test(arguments: ["waits", "runs", "paused"])
  func `A refused priority does not change the transfer`(name: String) throws {
    let everyState = try ListWithEveryState()
    try refuse(everyState) {
      let selection = everyState[name]
      _ = try everyState.simulation.call { try await $0.setPriority(.background, of: selection) }
    }
  }

  @Test(arguments: ["waits", "paused", "done"])
  func `A refused request does not change the transfer`(name: String) throws {
    let everyState = try ListWithEveryState()
    let id = try #require(everyState.ids[name])
    try refuse(everyState) {
      _ = try everyState.simulation.call { try await $0.set(id) { $0.priority = .background } }
    }
  }

  @Test(arguments: [nil, "key"], [1, 4])
  func `A refused addition adds nothing, holds no slot, and works the next time`(
    key: String?, slots: Int
  ) throws {
    let everyState = try ListWithEveryState()
    let simulation = everyState.simulation
    simulation.ledger.withLockedValue { $0.setLimits(active: slots, perHost: slots) }
    try simulation.call { await $0.setLimits(maximumActive: slots, maximumActivePerHost: slots) }
    // Everything that may start has started, and ended.
    simulation.pass(.seconds(1))
    var request = simulation.step("n", turns: 3)
    (request.identifier, request.group) = ("n", "new")
    let new = request
    try refuse(everyState) { _ = try simulation.call { try await $0.add([new], key: key) } }
  }

  @Test func `Repeated refusals keep no slot`() throws {
    let simulation = SimulatedManager(active: 2)
    let requests = ["a", "b", "c"].map { simulation.step($0, turns: 2) }
    simulation.refuseChanges(true)
    for _ in 0..<5 {
      #expect(throws: TransferError.self) { try simulation.call { try await $0.add(requests) } }
    }
    simulation.refuseChanges(false)
    let before = simulation.process.store.counts.commits
    let added = try simulation.call { try await $0.add(requests) }
    #expect(
      simulation.process.store.counts.commits == before + 1, "their starts are stored with them")
    let states = try added.map { try simulation.state($0) }
    #expect(states == [.running, .running, .queued], "both slots are free")
    try simulation.runOut()
    try simulation.end()
  }

  @Test func `A refused addition frees its reserved names`() throws {
    let simulation = SimulatedManager()
    let requests = try ["1", "2"].map { number in
      try simulation.download("f") { $0.url = try ResourceURL("http://h0/f?\(number)") }
    }
    for number in ["1", "2"] { simulation.servers["f?\(number)"] = simulation.servers["f"] }
    simulation.refuseChanges(true)
    for _ in 0..<3 {
      #expect(throws: TransferError.self) { try simulation.call { try await $0.add(requests) } }
    }
    simulation.refuseChanges(false)
    _ = try simulation.call { try await $0.add(requests) }
    try simulation.runOut()
    #expect(simulation.machine.names(in: QueueWorld.directory).sorted() == ["f", "f (1)"])
    try simulation.end()
  }
}
