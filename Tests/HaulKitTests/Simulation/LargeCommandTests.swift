import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Commands on more members than one change stores.
@Suite struct LargeCommandTests {
  /// So many steps, of which the first runs; with `isChain`, each depends on the one before it.
  private func steps(
    _ count: Int, _ scene: SimulatedManager, isChain: Bool = false
  ) throws -> [Transfer] {
    var requests: [TransferRequest] = []
    for number in 0..<count {
      var request = scene.step("s\(number)", turns: 5, isPatient: true)
      request.identifier = "s\(number)"
      request.group = "all"
      if isChain, number > 0 { request.after = [.identifier("s\(number - 1)")] }
      request.whenDependencyFails = .skip
      requests.append(request)
    }
    let added = requests
    return try scene.call { try await $0.add(added) }
  }

  /// Sends a command on these, and records it in the ledger.
  @discardableResult
  private func send(
    _ command: TransferMachine.Command, _ transfers: [Transfer], _ scene: SimulatedManager
  ) -> NIOLockedValueBox<Result<CommandReport, any Error>?> {
    let (ids, ledger) = (transfers.map(\.id), scene.ledger)
    let number = ledger.withLockedValue { $0.sent(command, Set(ids), nil, "\(command)") }
    return scene.begin { manager in
      do throws(TransferError) {
        let report = try await manager.carryOut(command, .ids(ids))
        ledger.withLockedValue { $0.returned(number, refused: report.refused) }
        return report
      } catch {
        ledger.withLockedValue { $0.threw(number, error) }
        throw error
      }
    }
  }

  /// The same, and waits until it has returned.
  private func call(
    _ command: TransferMachine.Command, _ transfers: [Transfer], _ scene: SimulatedManager
  ) throws {
    let result = send(command, transfers, scene)
    for _ in 0..<600 where result.withLockedValue({ $0 }) == nil {
      scene.pass(.milliseconds(10))
    }
    _ = try #require(result.withLockedValue { $0 }, "it does not return").get()
  }

  private func told(_ transfer: Transfer, in scene: SimulatedManager) -> [String] {
    scene.ledger.withLockedValue { $0.log.of(transfer.id) }
  }

  private func hasRun(_ transfer: Transfer, in scene: SimulatedManager) -> Bool? {
    scene.ledger.withLockedValue { $0.members[transfer.id]?.storedState.hasRun }
  }

  private func changes(_ scene: SimulatedManager) -> Int {
    scene.ledger.withLockedValue { $0.changes }
  }

  @Test func `A cancel of many is stored in several changes, and each is reported once`() throws {
    let scene = SimulatedManager(portionSize: 2)
    let steps = try steps(7, scene)
    let before = changes(scene)
    try call(.cancel, steps, scene)
    #expect(changes(scene) - before >= 4)
    for step in steps {
      #expect(try scene.state(step) == .cancelled)
      #expect(told(step, in: scene) == ["added", "cancelled"])
    }
    #expect(
      steps.compactMap { hasRun($0, in: scene) } == [true] + Array(repeating: false, count: 6))
    try scene.end()
  }

  @Test func `A cancelled chain reports cancelled for each member, not skipped`() throws {
    let scene = SimulatedManager(portionSize: 1)
    let steps = try steps(4, scene, isChain: true)
    try call(.cancel, steps, scene)
    for step in steps { #expect(told(step, in: scene) == ["added", "cancelled"]) }
    try scene.end()
  }

  @Test func `Nothing starts between two portions of a command`() throws {
    let scene = SimulatedManager(portionSize: 1)
    let steps = try steps(6, scene)
    let before = changes(scene)
    send(.cancel, steps, scene)
    for _ in 0..<10_000 where changes(scene) == before { _ = scene.process.executor.runOne() }
    #expect(changes(scene) == before + 1)
    scene.ledger.withLockedValue { $0.setLimits(active: 4, perHost: 4) }
    for _ in 0..<8 { scene.begin { await $0.setLimits(maximumActive: 4, maximumActivePerHost: 4) } }
    try scene.runOut()
    for step in steps.dropFirst() { #expect(hasRun(step, in: scene) == false) }
    try scene.end()
  }

  @Test
  func `A refused portion throws, earlier portions stay stored, and other transfers continue`()
    throws
  {
    let scene = SimulatedManager(portionSize: 2)
    let steps = try steps(6, scene)
    scene.process.store.behaviours.changesUntilRefusal = 1
    let paused = send(.pause, steps.reversed(), scene)
    try scene.runOut()
    #expect(throws: TransferError.self) { try #require(paused.withLockedValue { $0 }).get() }
    for step in steps.prefix(4) { #expect(try scene.state(step) == .completed) }
    for step in steps.suffix(2) { #expect(try scene.state(step) == .paused) }
    try scene.end()
  }

  @Test(arguments: [1, 2])
  func `The effects of earlier portions take place despite a refused portion`(
    refusals: Int
  ) throws {
    let scene = SimulatedManager(portionSize: 1)
    let steps = try steps(3, scene, isChain: true)
    try call(.pause, [steps[0]], scene)
    try call(.cancelKeepingBytes, [steps[2]], scene)
    scene.process.store.behaviours.changesUntilRefusal = 1
    scene.process.store.behaviours.refusalsInARow = refusals
    #expect(throws: TransferError.self) {
      try call(.cancelKeepingBytes, [steps[0], steps[1]], scene)
    }
    scene.pass(.seconds(1))
    #expect(told(steps[1], in: scene) == ["added", "failed"], "its dependency was cancelled")
    #expect(told(steps[2], in: scene) == ["added", "cancelled"])
    try scene.end()
  }
}
