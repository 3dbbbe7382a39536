import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Full disks, unmounted file systems and a missing network: which transfers wait and resume by
/// themselves. On simulated ports, with time that the test controls.
@Suite struct BlockedDownloadTests {
  private static let directory = QueueWorld.directory
  private static let length: Int64 = 40 << 10
  private static let roomy = 1 << 30
  private static let look = WaitMonitor.period + .seconds(1)

  /// A simulation in which something may block transfers from now on.
  private func hindered(active: Int = 1) -> SimulatedManager {
    let simulation = SimulatedManager(active: active)
    simulation.ledger.withLockedValue { $0.causesWaits = true }
    simulation.machine.put(Self.directory, onDevice: 1)
    // The part file has only received bytes.
    simulation.machine.setFaults(SimulatedFaults().with { $0.supportsAllocation = false })
    return simulation
  }

  private func add(
    _ simulation: SimulatedManager, _ name: String, to directory: String = Self.directory,
    length: Int64 = Self.length
  ) throws -> Transfer {
    let request = try simulation.download(name, length: length) {
      $0.destination = .directory(directory)
    }
    return try simulation.call { try await $0.add(request) }
  }

  /// A download of 4 MiB, of which more than a quarter has arrived.
  private func addPartly(_ simulation: SimulatedManager) throws -> Transfer {
    let transfer = try add(simulation, "f", length: 4 << 20)
    while simulation.received("f") < 1 << 20 { simulation.pass(.milliseconds(50)) }
    return transfer
  }

  private func reasons(_ simulation: SimulatedManager, _ text: String) -> Int {
    simulation.ledger.withLockedValue {
      $0.trace.count { $0.contains("reported to") && $0.contains(text) }
    }
  }

  private func expectWhole(
    _ simulation: SimulatedManager, _ name: String, length: Int64 = Self.length
  ) {
    let bytes = simulation.machine.contents(of: name, in: Self.directory)
    #expect(bytes == SeededContent(seed: 7).bytes(at: 0, count: Int(length)))
  }

  @Test func `A full disk makes a transfer wait without a slot, and it resumes by itself`() throws {
    let simulation = hindered()
    simulation.machine.put("/e", onDevice: 2)
    simulation.machine.setCapacity(20 << 10)
    let large = try add(simulation, "large")
    let elsewhere = try add(simulation, "elsewhere", to: "/e")
    simulation.pass(.seconds(2))
    #expect(try simulation.state(large) == .queued)
    #expect(try simulation.state(elsewhere) == .completed, "its slot is free")
    simulation.pass(.seconds(60))
    #expect(try simulation.state(large) == .queued)
    simulation.machine.setCapacity(Self.roomy)
    simulation.pass(Self.look)
    try simulation.runOut()
    #expect(try simulation.state(large) == .completed)
    expectWhole(simulation, "large")
    try simulation.end()
  }

  @Test func `A disk that fills midway keeps the bytes, which are not downloaded again`() throws {
    let simulation = hindered()
    let transfer = try addPartly(simulation)
    simulation.machine.setCapacity(simulation.received("f") + (64 << 10))
    simulation.pass(.seconds(30))
    #expect(try simulation.state(transfer) == .queued)
    let names = simulation.machine.names(in: Self.directory)
    #expect(names == ["f.haul.journal", "f.haul.part"])
    #expect(simulation.ledger.withLockedValue { $0.fetches.isEmpty }, "no connection is left")
    simulation.machine.setCapacity(Self.roomy)
    simulation.pass(Self.look)
    let result = try simulation.call { _ in try await transfer.result }
    #expect(result.reused > 1 << 19)
    #expect(result.fetched < 4 << 20)
    expectWhole(simulation, "f", length: 4 << 20)
    try simulation.end()
  }

  @Test func `While a disk is full, nothing else starts on it and no request is sent`() throws {
    let simulation = hindered()
    simulation.machine.setCapacity(20 << 10)
    let first = try add(simulation, "first")
    simulation.pass(.seconds(2))
    let asked = reasons(simulation, "connecting")
    let small = try add(simulation, "small", length: 1000)
    simulation.pass(.seconds(20))
    #expect(try simulation.state(small) == .queued)
    #expect(reasons(simulation, "connecting") == asked)
    simulation.machine.setCapacity(Self.roomy)
    simulation.pass(Self.look)
    try simulation.runOut()
    #expect(try simulation.state(first) == .completed)
    #expect(try simulation.state(small) == .completed)
    try simulation.end()
  }

  @Test func `A transfer that waits for a full disk can be paused, cancelled and removed`() throws {
    for command in [TransferMachine.Command.pause, .cancel, .remove] {
      let simulation = hindered()
      let transfer = try add(simulation, "f", length: 4 << 20)
      while simulation.received("f") < 1 << 20 { simulation.pass(.milliseconds(50)) }
      simulation.machine.setCapacity(simulation.received("f"))
      simulation.pass(.seconds(30))
      #expect(try simulation.state(transfer) == .queued)
      simulation.send(command, transfer)
      simulation.pass(.seconds(1))
      let names = simulation.machine.names(in: Self.directory)
      #expect(names.isEmpty == (command != .pause), "\(command): \(names)")
      simulation.machine.setCapacity(Self.roomy)
      simulation.pass(.seconds(30))
      #expect(
        try simulation.state(transfer)
          == (command == .pause ? .paused : command == .cancel ? .cancelled : nil))
      if command == .pause {
        simulation.send(.resume, transfer)
        try simulation.runOut()
        expectWhole(simulation, "f", length: 4 << 20)
      }
      try simulation.end()
    }
  }

  @Test func `A transfer without room for its journal waits too`() throws {
    let simulation = hindered()
    simulation.machine.setCapacity(0)
    let transfer = try add(simulation, "f", length: 4 << 20)
    simulation.pass(.seconds(30))
    #expect(try simulation.state(transfer) == .queued)
    simulation.machine.setCapacity(Self.roomy)
    simulation.pass(Self.look)
    try simulation.runOut()
    expectWhole(simulation, "f", length: 4 << 20)
    try simulation.end()
  }

  @Test(arguments: [nil, UInt64(9)])
  func `A file system unmounted midway is waited for, and nothing is created in its place`(
    leaving: UInt64?
  ) throws {
    let simulation = hindered()
    let transfer = try addPartly(simulation)
    simulation.machine.unmount(Self.directory, leaving: leaving)
    simulation.pass(.seconds(30))
    #expect(
      try simulation.state(transfer) == .queued,
      "\(simulation.ledger.withLockedValue { $0.trace.suffix(8) })"
    )
    #expect(simulation.machine.names(in: Self.directory).isEmpty)
    simulation.machine.mount(Self.directory, onDevice: 5)
    simulation.pass(Self.look)
    try simulation.runOut()
    #expect(try simulation.state(transfer) == .completed)
    expectWhole(simulation, "f", length: 4 << 20)
    try simulation.end()
  }

  @Test(arguments: [nil, UInt64(9)])
  func `A file system unmounted during a pause is waited for`(
    leaving: UInt64?
  ) throws {
    let simulation = hindered()
    let transfer = try addPartly(simulation)
    simulation.send(.pause, transfer)
    simulation.pass(.seconds(1))
    simulation.machine.unmount(Self.directory, leaving: leaving)
    simulation.send(.resume, transfer)
    simulation.pass(.seconds(30))
    #expect(try simulation.state(transfer) == .queued)
    #expect(simulation.machine.names(in: Self.directory).isEmpty)
    simulation.machine.mount(Self.directory, onDevice: 5)
    simulation.pass(Self.look)
    let result = try simulation.call { _ in try await transfer.result }
    #expect(result.reused > 1 << 19)
    try simulation.end()
  }

  @Test(arguments: [nil, UInt64(9)])
  func `A file system missing at the start of the program is waited for`(
    leaving: UInt64?
  ) throws {
    let simulation = hindered()
    let transfer = try addPartly(simulation)
    _ = try simulation.call { _ in try await transfer.pause() }
    try simulation.call { await $0.shutdown() }
    simulation.machine.unmount(Self.directory, leaving: leaving)
    let next = simulation.next()
    try next.call { try await $0.coordinator.open() }
    let again = try #require(try next.call { try await $0.transfer(transfer.id) })
    _ = try next.call { _ in try await again.resume() }
    next.pass(.seconds(30))
    #expect(try next.state(again) == .queued)
    #expect(next.machine.names(in: Self.directory).isEmpty)
    next.machine.mount(Self.directory, onDevice: 5)
    next.pass(Self.look)
    let result = try next.call { _ in try await again.result }
    #expect(result.reused > 1 << 19)
    expectWhole(next, "f", length: 4 << 20)
    try next.call { await $0.shutdown() }
    let memory = simulation.memory
    let left = try next.call { _ in try await memory.open().locations }
    #expect(left.isEmpty, "an ended transfer has no stored location")
  }

  @Test func `Without a network all transfers wait without attempts, and resume when it returns`()
    throws
  {
    let simulation = hindered()
    simulation.process.transport.network.isUp = false
    let request = try simulation.download("f") { $0.retry.retries = 0 }
    let transfer = try simulation.call { try await $0.add(request) }
    simulation.pass(.seconds(600))
    #expect(try simulation.state(transfer) == .queued)
    simulation.process.transport.network.isUp = true
    simulation.pass(Self.look)
    try simulation.runOut()
    #expect(try simulation.state(transfer) == .completed)
    try simulation.end()
  }

  @Test func `A manager that shuts down during a wait leaves nothing behind`() throws {
    let simulation = hindered()
    simulation.process.transport.network.isUp = false
    let transfer = try add(simulation, "f")
    simulation.pass(.seconds(2))
    try simulation.end()
    #expect(simulation.process.clock.sleeperCount == 0)
    let memory = simulation.memory
    let stored = try simulation.call { _ in try await memory.records([transfer.id]) }
    #expect(stored.map(\.storedState.status) == [.queued])
  }
}

extension SimulatedFaults {
  fileprivate func with(_ change: (inout SimulatedFaults) -> Void) -> SimulatedFaults {
    var faults = self
    change(&faults)
    return faults
  }
}
