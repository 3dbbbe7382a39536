import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Why a transfer does not run, according to its summary.
@Suite struct WaitReasonTests {
  private static let directory = QueueWorld.directory

  private func reason(_ simulation: SimulatedManager, _ transfer: Transfer) throws -> WaitReason? {
    try simulation.call { _ in await transfer.waitReason }
  }

  private func added(_ simulation: SimulatedManager, _ requests: [TransferRequest]) throws
    -> [Transfer]
  {
    try simulation.call { try await $0.add(requests) }
  }

  /// A simulation with a download that waits for room on its disk.
  private func withFullDisk() throws -> (SimulatedManager, Transfer) {
    let simulation = SimulatedManager()
    simulation.ledger.withLockedValue { $0.causesWaits = true }
    simulation.machine.put(Self.directory, onDevice: 1)
    simulation.machine.setFaults(SimulatedFaults())
    simulation.machine.setCapacity(20 << 10)
    let transfer = try added(
      simulation, [try simulation.download("f") { $0.destination = .directory(Self.directory) }])[0]
    simulation.pass(.seconds(2))
    return (simulation, transfer)
  }

  @Test
  func `Slots, dependencies, blocked dependencies and suspension are reported as wait reasons`()
    throws
  {
    let simulation = SimulatedManager()
    var chain = (0..<4).map { simulation.step("s\($0)", turns: 50) }
    for number in chain.indices { chain[number].identifier = "s\(number)" }
    for number in 2...3 { chain[number].after = ["s\(number - 1)"] }
    let steps = try added(simulation, chain)
    #expect(try reason(simulation, steps[0]) == nil, "it runs")
    #expect(try reason(simulation, steps[1]) == .slot)
    #expect(try reason(simulation, steps[2]) == .dependency(steps[1].id, isBlocked: false))
    #expect(try reason(simulation, steps[3]) == .dependency(steps[2].id, isBlocked: false))
    simulation.send(.cancel, steps[1])
    simulation.pass(.zero)
    #expect(try reason(simulation, steps[1]) == nil, "it has ended")
    let all = try simulation.call { await $0.summaries() }.map(\.waitReason)
    #expect(
      all[2...] == [
        .dependency(steps[1].id, isBlocked: true), .dependency(steps[1].id, isBlocked: true),
      ], "the one that must be retried, also through others")
    try simulation.call { await $0.suspend() }
    let last = try added(simulation, [simulation.step("s5", turns: 1)])[0]
    #expect(try reason(simulation, last) == .suspended)
    #expect(try simulation.call { _ in await last.snapshot?.summary.waitReason } == .suspended)
    let suspended = try simulation.call { manager in
      await manager.summaries(of: .filter { $0.waitReason == .suspended }).map(\.id)
    }
    #expect(suspended == [last.id])
    try simulation.call { await $0.unsuspend() }
    try simulation.runOut()
    try simulation.end()
  }

  @Test func `A closed schedule is reported with its opening time`() throws {
    let simulation = SimulatedManager(
      schedule: Schedule([.init(.everyDay, from: 10, to: 20)], timeZone: "UTC"))
    let transfer = try added(simulation, [simulation.step("s", turns: 1)])[0]
    let found = try #require(try reason(simulation, transfer))
    #expect(found.code == "schedule")
    #expect(found.untilSeconds == QueueWorld.wallStart + 600)
    try simulation.end()
  }

  @Test func `A full disk is reported with its bytes, and the event carries the same reason`()
    throws
  {
    let (simulation, transfer) = try withFullDisk()
    let events = NIOLockedValueBox<[WaitReason]>([])
    let before = simulation.process.store.counts.commits
    let stream = simulation.process.manager.events()
    simulation.process.start {
      for await event in stream {
        if case .waiting(let reason) = event.kind { events.withLockedValue { $0.append(reason) } }
      }
    }
    let found = try #require(try reason(simulation, transfer))
    guard case .diskFull(let shortage) = found else {
      Issue.record("\(found)")
      return
    }
    #expect(shortage.directory == Self.directory && shortage.device == 1)
    #expect(shortage.needed > shortage.free ?? .max)
    simulation.send(.start, transfer)
    simulation.pass(.seconds(2))
    let now = try reason(simulation, transfer)
    #expect(now?.code == "disk-full" && events.withLockedValue { $0.last } == now)
    let commits = simulation.process.store.counts.commits - before
    #expect(commits == 3, "the command, its start, and its end with the reason: \(commits)")
    simulation.machine.setCapacity(1 << 30)
    simulation.pass(WaitMonitor.period + .seconds(1))
    try simulation.runOut()
    #expect(try reason(simulation, transfer) == nil)
    try simulation.end()
  }

  @Test func `A reopened list still reports the wait for a full disk`() throws {
    let (simulation, transfer) = try withFullDisk()
    let known = try #require(try reason(simulation, transfer))
    #expect(known.code == "disk-full")
    try simulation.call { await $0.shutdown() }
    let next = simulation.next()
    next.ledger.withLockedValue { $0.causesWaits = true }
    // Nothing is tried before the check.
    try next.call { await $0.suspend() }
    try next.call { try await $0.coordinator.open() }
    let again = try #require(try next.call { try await $0.transfer(transfer.id) })
    #expect(try reason(next, again) == known)
    next.machine.setCapacity(1 << 30)
    try next.call { await $0.unsuspend() }
    try next.runOut()
    #expect(try next.state(again) == .completed)
    #expect(try reason(next, again) == nil)
    let memory = simulation.memory
    let stored = try next.call { _ in try await memory.records([again.id]) }
    #expect(stored.map(\.storedState.waitReason) == [nil])
    try next.call { await $0.shutdown() }
  }

  @Test func `A command ends the wait, and the store has no wait reason`() throws {
    let (simulation, transfer) = try withFullDisk()
    let memory = simulation.memory
    func stored() throws -> WaitReason? {
      try simulation.call { _ in
        try await memory.records([transfer.id]).first?.storedState.waitReason
      }
    }
    #expect(try stored()?.code == "disk-full")
    simulation.send(.pause, transfer)
    simulation.pass(.zero)
    #expect(try stored() == nil)
    #expect(try reason(simulation, transfer) == nil)
    try simulation.end()
  }
}
