import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Commands on more members than one change stores.
@Suite struct LargeCommandTests {
  /// So many steps, of which the first runs; with `isChain`, each depends on the one before it.
  private func steps(
    _ count: Int, _ simulation: SimulatedManager, isChain: Bool = false
  ) throws -> [Transfer] {
    var requests: [TransferRequest] = []
    for number in 0..<count {
      var request = simulation.step("s\(number)", turns: 5, isPatient: true)
      request.identifier = "s\(number)"
      request.group = "all"
      if isChain, number > 0 { request.after = ["s\(number - 1)"] }
      request.whenDependencyFails = .skip
      requests.append(request)
    }
    let added = requests
    return try simulation.call { try await $0.add(added) }
  }

  /// Sends a command on these, and records it in the ledger.
  @discardableResult
  private func send(
    _ command: TransferMachine.Command, _ transfers: [Transfer], _ simulation: SimulatedManager
  ) -> NIOLockedValueBox<Result<CommandReport, any Error>?> {
    let (ids, ledger) = (transfers.map(\.id), simulation.ledger)
    let number = ledger.withLockedValue { $0.sent(command, Set(ids), nil, "\(command)") }
    return simulation.begin { manager in
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
    _ command: TransferMachine.Command, _ transfers: [Transfer], _ simulation: SimulatedManager
  ) throws {
    let result = send(command, transfers, simulation)
    for _ in 0..<600 where result.withLockedValue({ $0 }) == nil {
      simulation.pass(.milliseconds(10))
    }
    _ = try #require(result.withLockedValue { $0 }, "it does not return").get()
  }

  private func reported(_ transfer: Transfer, in simulation: SimulatedManager) -> [String] {
    simulation.ledger.withLockedValue { $0.log.of(transfer.id) }
  }

  private func hasRun(_ transfer: Transfer, in simulation: SimulatedManager) -> Bool? {
    simulation.ledger.withLockedValue { $0.members[transfer.id]?.storedState.hasRun }
  }

  private func changes(_ simulation: SimulatedManager) -> Int {
    simulation.ledger.withLockedValue { $0.changes }
  }

  @Test func `A cancel of many is stored in several changes, and each is reported once`() throws {
    let simulation = SimulatedManager(portionSize: 2)
    let steps = try steps(7, simulation)
    let before = changes(simulation)
    try call(.cancel, steps, simulation)
    #expect(changes(simulation) - before >= 4)
    for step in steps {
      #expect(try simulation.state(step) == .cancelled)
      #expect(reported(step, in: simulation) == ["added", "cancelled"])
    }
    #expect(
      steps.compactMap { hasRun($0, in: simulation) } == [true] + Array(repeating: false, count: 6))
    try simulation.end()
  }

  @Test func `A cancelled chain reports cancelled for each member, not skipped`() throws {
    let simulation = SimulatedManager(portionSize: 1)
    let steps = try steps(4, simulation, isChain: true)
    try call(.cancel, steps, simulation)
    for step in steps { #expect(reported(step, in: simulation) == ["added", "cancelled"]) }
    try simulation.end()
  }

  @Test func `Nothing starts between two portions of a command`() throws {
    let simulation = SimulatedManager(portionSize: 1)
    let steps = try steps(6, simulation)
    let before = changes(simulation)
    send(.cancel, steps, simulation)
    for _ in 0..<10_000 where changes(simulation) == before {
      _ = simulation.process.executor.runOne()
    }
    #expect(changes(simulation) == before + 1)
    simulation.ledger.withLockedValue { $0.setLimits(active: 4, perHost: 4) }
    for _ in 0..<8 {
      simulation.begin { await $0.setLimits(maximumActive: 4, maximumActivePerHost: 4) }
    }
    try simulation.runOut()
    for step in steps.dropFirst() { #expect(hasRun(step, in: simulation) == false) }
    try simulation.end()
  }

  @Test
  func `A refused portion throws, earlier portions stay stored, and other transfers continue`()
    throws
  {
    let simulation = SimulatedManager(portionSize: 2)
    let steps = try steps(6, simulation)
    simulation.process.store.behaviours.changesUntilRefusal = 1
    let paused = send(.pause, steps.reversed(), simulation)
    try simulation.runOut()
    #expect(throws: TransferError.self) { try #require(paused.withLockedValue { $0 }).get() }
    for step in steps.prefix(4) { #expect(try simulation.state(step) == .completed) }
    for step in steps.suffix(2) { #expect(try simulation.state(step) == .paused) }
    try simulation.end()
  }

  @Test(arguments: [1, 2])
  func `The effects of earlier portions take place despite a refused portion`(
    refusals: Int
  ) throws {
    let simulation = SimulatedManager(portionSize: 1)
    let steps = try steps(3, simulation, isChain: true)
    try call(.pause, [steps[0]], simulation)
    try call(.cancelKeepingBytes, [steps[2]], simulation)
    simulation.process.store.behaviours.changesUntilRefusal = 1
    simulation.process.store.behaviours.refusalsInARow = refusals
    #expect(throws: TransferError.self) {
      try call(.cancelKeepingBytes, [steps[0], steps[1]], simulation)
    }
    simulation.pass(.seconds(1))
    #expect(
      reported(steps[1], in: simulation) == ["added", "failed"], "its dependency was cancelled")
    #expect(reported(steps[2], in: simulation) == ["added", "cancelled"])
    try simulation.end()
  }
}
