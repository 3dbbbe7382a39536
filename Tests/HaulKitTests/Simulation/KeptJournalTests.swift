import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// A finished file keeps its journal until the store has its end.
@Suite struct KeptJournalTests {
  @Test
  func `killed between publishing and storing the end, without attributes, the file is recognised`()
    throws
  {
    var faults = SimulatedFaults()
    faults.supportsAttributes = false
    let simulation = SimulatedManager(machine: SimulatedMachine(seed: 1, faults: faults))
    let request = try simulation.download("f") {
      $0.destination = .file("\(QueueWorld.directory)/f")
      $0.createsDirectories = true
    }
    let transfer = try simulation.call { try await $0.add(request) }
    simulation.refuseChanges(true)
    simulation.pass(.seconds(1))
    #expect(simulation.machine.names(in: QueueWorld.directory).contains("f"))
    simulation.machine.killProcesses()
    simulation.process.die()

    let next = simulation.next()
    try next.call { try await $0.coordinator.open() }
    try next.runOut()
    let again = try #require(try next.call { try await $0.transfer(transfer.id) })
    #expect(try next.state(again) == .completed)
    #expect(simulation.machine.names(in: QueueWorld.directory) == ["f"])
    let requests = next.ledger.withLockedValue { $0.trace.filter { $0.hasPrefix("asks") } }
    #expect(requests.isEmpty, "nothing is requested again")
  }
}
