import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Why a transfer does not run, according to its summary.
@Suite struct WaitReasonTests {
  private static let directory = QueueWorld.directory

  private func reason(_ scene: SimulatedManager, _ transfer: Transfer) throws -> WaitReason? {
    try scene.call { _ in await transfer.waitReason }
  }

  private func added(_ scene: SimulatedManager, _ requests: [TransferRequest]) throws -> [Transfer]
  {
    try scene.call { try await $0.add(requests) }
  }

  /// A scene with a download that waits for room on its disk.
  private func withFullDisk() throws -> (SimulatedManager, Transfer) {
    let scene = SimulatedManager()
    scene.ledger.withLockedValue { $0.causesWaits = true }
    scene.machine.put(Self.directory, onDevice: 1)
    scene.machine.setFaults(SimulatedFaults())
    scene.machine.setCapacity(20 << 10)
    let transfer = try added(
      scene, [try scene.download("f") { $0.destination = .directory(Self.directory) }])[0]
    scene.pass(.seconds(2))
    return (scene, transfer)
  }

  @Test
  func `Slots, dependencies, blocked dependencies and suspension are reported as wait reasons`()
    throws
  {
    let scene = SimulatedManager()
    var chain = (0..<4).map { scene.step("s\($0)", turns: 50) }
    for number in chain.indices { chain[number].identifier = "s\(number)" }
    for number in 2...3 { chain[number].after = [.identifier("s\(number - 1)")] }
    let steps = try added(scene, chain)
    #expect(try reason(scene, steps[0]) == nil, "it runs")
    #expect(try reason(scene, steps[1]) == .slot)
    #expect(try reason(scene, steps[2]) == .dependency(steps[1].id, isBlocked: false))
    #expect(try reason(scene, steps[3]) == .dependency(steps[2].id, isBlocked: false))
    scene.send(.cancel, steps[1])
    scene.pass(.zero)
    #expect(try reason(scene, steps[1]) == nil, "it has ended")
    let all = try scene.call { await $0.summaries() }.map(\.waitReason)
    #expect(
      all[2...] == [
        .dependency(steps[1].id, isBlocked: true), .dependency(steps[1].id, isBlocked: true),
      ], "the one that must be retried, also through others")
    try scene.call { await $0.suspend() }
    let last = try added(scene, [scene.step("s5", turns: 1)])[0]
    #expect(try reason(scene, last) == .suspended)
    #expect(try scene.call { _ in await last.snapshot?.summary.waitReason } == .suspended)
    let suspended = try scene.call { manager in
      await manager.summaries(of: .filter { $0.waitReason == .suspended }).map(\.id)
    }
    #expect(suspended == [last.id])
    try scene.call { await $0.unsuspend() }
    try scene.runOut()
    try scene.end()
  }

  @Test func `A closed schedule is reported with its opening time`() throws {
    let scene = SimulatedManager(
      schedule: Schedule([.init(.everyDay, from: 10, to: 20)], timeZone: "UTC"))
    let transfer = try added(scene, [scene.step("s", turns: 1)])[0]
    let found = try #require(try reason(scene, transfer))
    #expect(found.code == "schedule")
    #expect(found.until == QueueWorld.wallStart + 600)
    try scene.end()
  }

  @Test func `A full disk is reported with its bytes, and the event carries the same reason`()
    throws
  {
    let (scene, transfer) = try withFullDisk()
    let events = NIOLockedValueBox<[WaitReason]>([])
    let before = scene.process.store.counts.commits
    let stream = scene.process.manager.events()
    scene.process.start {
      for await event in stream {
        if case .waiting(let reason) = event.kind { events.withLockedValue { $0.append(reason) } }
      }
    }
    let found = try #require(try reason(scene, transfer))
    guard case .diskFull(let shortage) = found else {
      Issue.record("\(found)")
      return
    }
    #expect(shortage.directory == Self.directory && shortage.device == 1)
    #expect(shortage.needed > shortage.free ?? .max)
    scene.send(.start, transfer)
    scene.pass(.seconds(2))
    let now = try reason(scene, transfer)
    #expect(now?.code == "disk-full" && events.withLockedValue { $0.last } == now)
    let commits = scene.process.store.counts.commits - before
    #expect(commits == 3, "the command, its start, and its end with the reason: \(commits)")
    scene.machine.setCapacity(1 << 30)
    scene.pass(WaitMonitor.period + .seconds(1))
    try scene.runOut()
    #expect(try reason(scene, transfer) == nil)
    try scene.end()
  }

  @Test func `A reopened list still reports the wait for a full disk`() throws {
    let (scene, transfer) = try withFullDisk()
    let known = try #require(try reason(scene, transfer))
    #expect(known.code == "disk-full")
    try scene.call { await $0.shutdown() }
    let next = scene.next()
    next.ledger.withLockedValue { $0.causesWaits = true }
    // Nothing is tried before the check.
    try next.call { await $0.suspend() }
    try next.call { try await $0.open() }
    let again = try #require(try next.call { try await $0.transfer(transfer.id) })
    #expect(try reason(next, again) == known)
    next.machine.setCapacity(1 << 30)
    try next.call { await $0.unsuspend() }
    try next.runOut()
    #expect(try next.state(again) == .completed)
    #expect(try reason(next, again) == nil)
    let memory = scene.memory
    let stored = try next.call { _ in try await memory.records([again.id]) }
    #expect(stored.map(\.storedState.waitReason) == [nil])
    try next.call { await $0.shutdown() }
  }

  @Test func `A command ends the wait, and the store has no wait reason`() throws {
    let (scene, transfer) = try withFullDisk()
    let memory = scene.memory
    func stored() throws -> WaitReason? {
      try scene.call { _ in try await memory.records([transfer.id]).first?.storedState.waitReason }
    }
    #expect(try stored()?.code == "disk-full")
    scene.send(.pause, transfer)
    scene.pass(.zero)
    #expect(try stored() == nil)
    #expect(try reason(scene, transfer) == nil)
    try scene.end()
  }
}
