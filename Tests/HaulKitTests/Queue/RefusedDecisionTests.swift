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
    let scene: SimulatedManager
    var ids: [String: TransferID] = [:]

    init(portionSize: Int = QueueCoordinator.portionSize) throws {
      scene = SimulatedManager(portionSize: portionSize)
      scene.ledger.withLockedValue { $0.moves = 1 }
      try add(["done", "failed"])
      try scene.runOut()
      try add(["runs", "paused", "waits", "behind", "cancelled"])
      try scene.order(.pause, self["paused"])
      try scene.order(.cancelKeepingBytes, self["cancelled"])
      #expect(
        try scene.call { await $0.summaries().map(\.state) } == [
          .completed, .failed, .running, .paused, .queued, .queued, .cancelled,
        ])
    }

    private mutating func add(_ names: [String]) throws {
      let requests = names.map { name in
        var request = scene.step(name, turns: name == "runs" ? 40 : 1, isPatient: true)
        (request.identifier, request.group) = (name, name == "waits" ? nil : "g")
        if name == "behind" { request.after = [.identifier("waits")] }
        return request
      }
      if names.contains("failed") {
        scene.plans.withLockedValue { $0["failed"]?.alwaysFails = true }
      }
      for (name, transfer) in zip(names, try scene.call { try await $0.add(requests) }) {
        ids[name] = transfer.id
      }
    }

    subscript(name: String) -> TransferSelection { .ids(ids[name].map { [$0] } ?? []) }

    func expectAgreement(_ sourceLocation: SourceLocation = #_sourceLocation) throws {
      let found = try scene.disagreements(RefusedDecisionTests.groups, Self.all)
      #expect(found.isEmpty, sourceLocation: sourceLocation)
    }

    func visibleState() throws -> (list: VisibleListState, snapshots: [TransferSnapshot?]) {
      try scene.visibleState(RefusedDecisionTests.groups, Self.all)
    }

    private static let all = RefusedDecisionTests.names + ["n"]
  }

  /// The next change is refused and has no effect; then `body` works, and all transfers end.
  private func refuse(
    _ cast: ListWithEveryState, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
  ) throws {
    let scene = cast.scene
    let before = try cast.visibleState()
    scene.process.store.behaviours.changesUntilRefusal = 0
    let error = #expect(throws: TransferError.self, sourceLocation: sourceLocation) { try body() }
    #expect(error?.code == .io, sourceLocation: sourceLocation)
    #expect(scene.process.store.behaviours.changesUntilRefusal == nil)
    let after = try cast.visibleState()
    #expect(after.list == before.list, sourceLocation: sourceLocation)
    #expect(after.snapshots == before.snapshots, sourceLocation: sourceLocation)
    try cast.expectAgreement(sourceLocation)
    try body()
    #expect(try cast.visibleState() != before, "it works now", sourceLocation: sourceLocation)
    try cast.expectAgreement(sourceLocation)
    try scene.runOut()
    try cast.expectAgreement(sourceLocation)
    let counts = try cast.visibleState().list.counts
    #expect((counts[.running] ?? 0) + (counts[.stopping] ?? 0) == 0)
    try scene.end(sourceLocation: sourceLocation)
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
    let cast = try ListWithEveryState()
    try refuse(cast) { try cast.scene.order(command, cast[name]) }
  }

  @Test(arguments: [TransferMachine.Command.pause, .cancel, .remove])
  func `A group command whose first portion is refused changes nothing`(
    command: TransferMachine.Command
  ) throws {
    let cast = try ListWithEveryState(portionSize: 2)
    try refuse(cast) { try cast.scene.order(command, .group("g")) }
  }

  @Test(arguments: 1...2)
  func `After a refused portion, memory and store keep the earlier portions`(
    portions: Int
  ) throws {
    let cast = try ListWithEveryState(portionSize: 2)
    cast.scene.process.store.behaviours.changesUntilRefusal = portions
    #expect(throws: TransferError.self) { try cast.scene.order(.cancel, .group("g")) }
    try cast.expectAgreement()
    #expect(try cast.visibleState().list.groups["g"]?[3] ?? 0 < 5, "not all of them")
    try cast.scene.order(.cancel, .group("g"))
    #expect(try cast.visibleState().list.groups["g"] == [6, 1, 0, 5])
    try cast.scene.runOut()
    try cast.expectAgreement()
    try cast.scene.end()
  }

  @Test(arguments: [QueuePosition.first, .last])
  func `A refused move does not change the order`(place: QueuePosition) throws {
    let cast = try ListWithEveryState()
    try refuse(cast) {
      let selection = cast["waits"]
      _ = try cast.scene.call { try await $0.move(selection, to: place) }
    }
  }

  @Test(arguments: ["waits", "runs", "paused"])
  func `A refused priority does not change the transfer`(name: String) throws {
    let cast = try ListWithEveryState()
    try refuse(cast) {
      let selection = cast[name]
      _ = try cast.scene.call { try await $0.setPriority(.background, of: selection) }
    }
  }

  @Test(arguments: ["waits", "paused", "done"])
  func `A refused request does not change the transfer`(name: String) throws {
    let cast = try ListWithEveryState()
    let id = try #require(cast.ids[name])
    try refuse(cast) {
      _ = try cast.scene.call { try await $0.set(id) { $0.priority = .background } }
    }
  }

  @Test(arguments: [nil, "key"], [1, 4])
  func `A refused addition adds nothing, holds no slot, and works the next time`(
    key: String?, slots: Int
  ) throws {
    let cast = try ListWithEveryState()
    let scene = cast.scene
    scene.ledger.withLockedValue { $0.setLimits(active: slots, perHost: slots) }
    try scene.call { await $0.setLimits(maximumActive: slots, maximumActivePerHost: slots) }
    // Everything that may start has started, and ended.
    scene.pass(.seconds(1))
    var request = scene.step("n", turns: 3)
    (request.identifier, request.group) = ("n", "new")
    let new = request
    try refuse(cast) { _ = try scene.call { try await $0.add([new], key: key) } }
  }

  @Test func `Repeated refusals keep no slot`() throws {
    let scene = SimulatedManager(active: 2)
    let requests = ["a", "b", "c"].map { scene.step($0, turns: 2) }
    scene.refuseChanges(true)
    for _ in 0..<5 {
      #expect(throws: TransferError.self) { try scene.call { try await $0.add(requests) } }
    }
    scene.refuseChanges(false)
    let before = scene.process.store.counts.commits
    let added = try scene.call { try await $0.add(requests) }
    #expect(scene.process.store.counts.commits == before + 1, "their starts are stored with them")
    let states = try added.map { try scene.state($0) }
    #expect(states == [.running, .running, .queued], "both slots are free")
    try scene.runOut()
    try scene.end()
  }

  @Test func `A refused addition frees its reserved names`() throws {
    let scene = SimulatedManager()
    let requests = try ["1", "2"].map { number in
      try scene.download("f") { $0.url = try ResourceURL("http://h0/f?\(number)") }
    }
    for number in ["1", "2"] { scene.servers["f?\(number)"] = scene.servers["f"] }
    scene.refuseChanges(true)
    for _ in 0..<3 {
      #expect(throws: TransferError.self) { try scene.call { try await $0.add(requests) } }
    }
    scene.refuseChanges(false)
    _ = try scene.call { try await $0.add(requests) }
    try scene.runOut()
    #expect(scene.machine.names(in: QueueWorld.directory).sorted() == ["f", "f (1)"])
    try scene.end()
  }
}
