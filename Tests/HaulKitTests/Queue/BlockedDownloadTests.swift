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

  /// A scene in which something may block transfers from now on.
  private func hindered(active: Int = 1) -> SimulatedManager {
    let scene = SimulatedManager(active: active)
    scene.ledger.withLockedValue { $0.causesWaits = true }
    scene.machine.put(Self.directory, onDevice: 1)
    // The part file has only received bytes.
    scene.machine.setFaults(SimulatedFaults().with { $0.supportsAllocation = false })
    return scene
  }

  private func add(
    _ scene: SimulatedManager, _ name: String, to directory: String = Self.directory,
    length: Int64 = Self.length
  ) throws -> Transfer {
    let request = try scene.download(name, length: length) {
      $0.destination = .directory(directory)
    }
    return try scene.call { try await $0.add(request) }
  }

  /// A download of 4 MiB, of which more than a quarter has arrived.
  private func addPartly(_ scene: SimulatedManager) throws -> Transfer {
    let transfer = try add(scene, "f", length: 4 << 20)
    while scene.received("f") < 1 << 20 { scene.pass(.milliseconds(50)) }
    return transfer
  }

  private func reasons(_ scene: SimulatedManager, _ text: String) -> Int {
    scene.ledger.withLockedValue { $0.trace.count { $0.contains("told") && $0.contains(text) } }
  }

  private func expectWhole(_ scene: SimulatedManager, _ name: String, length: Int64 = Self.length) {
    let bytes = scene.machine.contents(of: name, in: Self.directory)
    #expect(bytes == SeededContent(seed: 7).bytes(at: 0, count: Int(length)))
  }

  @Test func `A full disk makes a transfer wait without a slot, and it resumes by itself`() throws {
    let scene = hindered()
    scene.machine.put("/e", onDevice: 2)
    scene.machine.setCapacity(20 << 10)
    let large = try add(scene, "large")
    let elsewhere = try add(scene, "elsewhere", to: "/e")
    scene.pass(.seconds(2))
    #expect(try scene.state(large) == .queued)
    #expect(try scene.state(elsewhere) == .completed, "its slot is free")
    scene.pass(.seconds(60))
    #expect(try scene.state(large) == .queued)
    scene.machine.setCapacity(Self.roomy)
    scene.pass(Self.look)
    try scene.runOut()
    #expect(try scene.state(large) == .completed)
    expectWhole(scene, "large")
    try scene.end()
  }

  @Test func `A disk that fills midway keeps the bytes, which are not downloaded again`() throws {
    let scene = hindered()
    let transfer = try addPartly(scene)
    scene.machine.setCapacity(scene.received("f") + (64 << 10))
    scene.pass(.seconds(30))
    #expect(try scene.state(transfer) == .queued)
    let names = scene.machine.names(in: Self.directory)
    #expect(names == ["f.haul.journal", "f.haul.part"])
    #expect(scene.ledger.withLockedValue { $0.fetches.isEmpty }, "no connection is left")
    scene.machine.setCapacity(Self.roomy)
    scene.pass(Self.look)
    let result = try scene.call { _ in try await transfer.result }
    #expect(result.reused > 1 << 19)
    #expect(result.fetched < 4 << 20)
    expectWhole(scene, "f", length: 4 << 20)
    try scene.end()
  }

  @Test func `While a disk is full, nothing else starts on it and no request is sent`() throws {
    let scene = hindered()
    scene.machine.setCapacity(20 << 10)
    let first = try add(scene, "first")
    scene.pass(.seconds(2))
    let asked = reasons(scene, "connecting")
    let small = try add(scene, "small", length: 1000)
    scene.pass(.seconds(20))
    #expect(try scene.state(small) == .queued)
    #expect(reasons(scene, "connecting") == asked)
    scene.machine.setCapacity(Self.roomy)
    scene.pass(Self.look)
    try scene.runOut()
    #expect(try scene.state(first) == .completed)
    #expect(try scene.state(small) == .completed)
    try scene.end()
  }

  @Test func `A transfer that waits for a full disk can be paused, cancelled and removed`() throws {
    for command in [TransferMachine.Command.pause, .cancel, .remove] {
      let scene = hindered()
      let transfer = try add(scene, "f", length: 4 << 20)
      while scene.received("f") < 1 << 20 { scene.pass(.milliseconds(50)) }
      scene.machine.setCapacity(scene.received("f"))
      scene.pass(.seconds(30))
      #expect(try scene.state(transfer) == .queued)
      scene.send(command, transfer)
      scene.pass(.seconds(1))
      let names = scene.machine.names(in: Self.directory)
      #expect(names.isEmpty == (command != .pause), "\(command): \(names)")
      scene.machine.setCapacity(Self.roomy)
      scene.pass(.seconds(30))
      #expect(
        try scene.state(transfer)
          == (command == .pause ? .paused : command == .cancel ? .cancelled : nil))
      if command == .pause {
        scene.send(.resume, transfer)
        try scene.runOut()
        expectWhole(scene, "f", length: 4 << 20)
      }
      try scene.end()
    }
  }

  @Test func `A transfer without room for its journal waits too`() throws {
    let scene = hindered()
    scene.machine.setCapacity(0)
    let transfer = try add(scene, "f", length: 4 << 20)
    scene.pass(.seconds(30))
    #expect(try scene.state(transfer) == .queued)
    scene.machine.setCapacity(Self.roomy)
    scene.pass(Self.look)
    try scene.runOut()
    expectWhole(scene, "f", length: 4 << 20)
    try scene.end()
  }

  @Test(arguments: [nil, UInt64(9)])
  func `A file system unmounted midway is waited for, and nothing is created in its place`(
    leaving: UInt64?
  ) throws {
    let scene = hindered()
    let transfer = try addPartly(scene)
    scene.machine.unmount(Self.directory, leaving: leaving)
    scene.pass(.seconds(30))
    #expect(
      try scene.state(transfer) == .queued, "\(scene.ledger.withLockedValue { $0.trace.suffix(8) })"
    )
    #expect(scene.machine.names(in: Self.directory).isEmpty)
    scene.machine.mount(Self.directory, onDevice: 5)
    scene.pass(Self.look)
    try scene.runOut()
    #expect(try scene.state(transfer) == .completed)
    expectWhole(scene, "f", length: 4 << 20)
    try scene.end()
  }

  @Test(arguments: [nil, UInt64(9)])
  func `A file system unmounted during a pause is waited for`(
    leaving: UInt64?
  ) throws {
    let scene = hindered()
    let transfer = try addPartly(scene)
    scene.send(.pause, transfer)
    scene.pass(.seconds(1))
    scene.machine.unmount(Self.directory, leaving: leaving)
    scene.send(.resume, transfer)
    scene.pass(.seconds(30))
    #expect(try scene.state(transfer) == .queued)
    #expect(scene.machine.names(in: Self.directory).isEmpty)
    scene.machine.mount(Self.directory, onDevice: 5)
    scene.pass(Self.look)
    let result = try scene.call { _ in try await transfer.result }
    #expect(result.reused > 1 << 19)
    try scene.end()
  }

  @Test(arguments: [nil, UInt64(9)])
  func `A file system missing at the start of the program is waited for`(
    leaving: UInt64?
  ) throws {
    let scene = hindered()
    let transfer = try addPartly(scene)
    _ = try scene.call { _ in try await transfer.pause() }
    try scene.call { await $0.shutdown() }
    scene.machine.unmount(Self.directory, leaving: leaving)
    let next = scene.next()
    try next.call { try await $0.open() }
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
    let memory = scene.memory
    let left = try next.call { _ in try await memory.open().locations }
    #expect(left.isEmpty, "an ended transfer has no stored location")
  }

  @Test func `Without a network all transfers wait without attempts, and resume when it returns`()
    throws
  {
    let scene = hindered()
    scene.process.transport.network.isUp = false
    let request = try scene.download("f") { $0.retry.retries = 0 }
    let transfer = try scene.call { try await $0.add(request) }
    scene.pass(.seconds(600))
    #expect(try scene.state(transfer) == .queued)
    scene.process.transport.network.isUp = true
    scene.pass(Self.look)
    try scene.runOut()
    #expect(try scene.state(transfer) == .completed)
    try scene.end()
  }

  @Test func `A manager that shuts down during a wait leaves nothing behind`() throws {
    let scene = hindered()
    scene.process.transport.network.isUp = false
    let transfer = try add(scene, "f")
    scene.pass(.seconds(2))
    try scene.end()
    #expect(scene.process.clock.sleeperCount == 0)
    let memory = scene.memory
    let stored = try scene.call { _ in try await memory.records([transfer.id]) }
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
