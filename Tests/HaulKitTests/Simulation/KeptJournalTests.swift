import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// A finished file keeps its journal until the store has its end.
@Suite struct KeptJournalTests {
  @Test(
    "killed between publishing and storing the end, without file attributes, the file is recognised"
  )
  func recognised() throws {
    var faults = SimulatedFaults()
    faults.supportsAttributes = false
    let scene = SimulatedManager(machine: SimulatedMachine(seed: 1, faults: faults))
    let request = try scene.download("f") {
      $0.destination = .file("\(QueueWorld.directory)/f")
      $0.createsDirectories = true
    }
    let transfer = try scene.call { try await $0.add(request) }
    scene.refuseChanges(true)
    scene.pass(.seconds(1))
    #expect(scene.machine.names(in: QueueWorld.directory).contains("f"))
    scene.machine.killProcesses()
    scene.process.die()

    let next = scene.next()
    try next.call { try await $0.open() }
    try next.runOut()
    let again = try #require(try next.call { try await $0.transfer(transfer.id) })
    #expect(try next.state(again) == .completed)
    #expect(scene.machine.names(in: QueueWorld.directory) == ["f"])
    let requests = next.ledger.withLockedValue { $0.trace.filter { $0.hasPrefix("asks") } }
    #expect(requests.isEmpty, "nothing is requested again")
  }
}
