import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Transfers with a start time, on simulated ports, with time that the test controls.
@Suite struct TransferStartTimeTests {
  private func add(
    _ simulation: SimulatedManager, _ name: String, in seconds: Double, after: Transfer? = nil
  ) throws -> Transfer {
    var request = try simulation.download(name)
    request.startSeconds = simulation.process.clock.wallSeconds + seconds
    if let after { request.after = [after.id] }
    let added = request
    return try simulation.call { try await $0.add(added) }
  }

  private func hasStarted(_ simulation: SimulatedManager, _ name: String) -> Bool {
    simulation.received(name) > 0
      || simulation.machine.contents(of: name, in: QueueWorld.directory) != nil
  }

  @Test func `It starts at its time, and takes no slot before`() throws {
    let simulation = SimulatedManager(active: 1)
    let reasons = NIOLockedValueBox<[WaitReason]>([])
    let events = simulation.process.manager.events()
    simulation.process.start {
      for await event in events {
        guard case .waiting(let reason) = event.kind else { continue }
        #expect(event.url != nil)
        reasons.withLockedValue { $0.append(reason) }
      }
    }
    let late = try add(simulation, "late", in: 3600)
    let request = try simulation.download("other")
    let other = try simulation.call { try await $0.add(request) }
    simulation.pass(.seconds(3599))
    #expect(try simulation.state(other) == .completed)
    #expect(try simulation.state(late) == .queued)
    let reason = WaitReason.startTime(until: QueueWorld.wallStart + 3600)
    #expect(try simulation.call { _ in await late.waitReason } == reason)
    #expect(reasons.withLockedValue { $0 } == [reason])
    #expect(!hasStarted(simulation, "late"))
    simulation.pass(.seconds(1.1))
    #expect(hasStarted(simulation, "late"))
    try simulation.runOut()
    #expect(try simulation.state(late) == .completed)
    try simulation.end()
  }

  @Test func `A past time is at once`() throws {
    let simulation = SimulatedManager()
    let transfer = try add(simulation, "f", in: -1)
    try simulation.runOut()
    #expect(simulation.process.clock.now < Instant(.seconds(60)))
    #expect(try simulation.state(transfer) == .completed)
    try simulation.end()
  }

  @Test func `When the clock is set forward past the time, it starts within a minute`() throws {
    let simulation = SimulatedManager()
    _ = try add(simulation, "f", in: 7200)
    simulation.pass(.seconds(30))
    simulation.process.clock.adjustWallClock(by: 7200)
    simulation.pass(.seconds(61))
    #expect(hasStarted(simulation, "f"))
    try simulation.end()
  }

  @Test func `When the clock is set back, it waits until the clock reaches the time`() throws {
    let simulation = SimulatedManager()
    let transfer = try add(simulation, "f", in: 600)
    simulation.pass(.seconds(590))
    simulation.process.clock.adjustWallClock(by: -300)
    simulation.pass(.seconds(305))
    #expect(!hasStarted(simulation, "f"))
    #expect(try simulation.state(transfer) == .queued)
    simulation.pass(.seconds(10))
    #expect(hasStarted(simulation, "f"))
    try simulation.end()
  }

  @Test func `A restart of the program keeps the time`() throws {
    let simulation = SimulatedManager()
    _ = try add(simulation, "f", in: 600)
    simulation.pass(.seconds(10))
    try simulation.end()
    let next = simulation.next()
    try next.call { try await $0.coordinator.open() }
    next.process.clock.adjustWallClock(by: 10)
    next.pass(.seconds(580))
    #expect(!hasStarted(next, "f"))
    next.pass(.seconds(11))
    #expect(hasStarted(next, "f"))
    try next.call { await $0.shutdown() }
  }

  @Test func `Start runs it at once, and set gives it another time`() throws {
    let simulation = SimulatedManager(active: 2)
    let first = try add(simulation, "first", in: 600)
    let second = try add(simulation, "second", in: 600)
    simulation.send(.start, first)
    simulation.pass(.seconds(1))
    #expect(hasStarted(simulation, "first"))
    let time = simulation.process.clock.wallSeconds + 1200
    try simulation.call { _ in try await second.set { $0.startSeconds = time } }
    simulation.pass(.seconds(1199))
    #expect(!hasStarted(simulation, "second"))
    simulation.pass(.seconds(2))
    #expect(hasStarted(simulation, "second"))
    try simulation.end()
  }

  @Test func `In a suspended list it waits on after its time, with that reason`() throws {
    let simulation = SimulatedManager()
    try simulation.call { await $0.suspend() }
    let reasons = NIOLockedValueBox<[WaitReason]>([])
    let events = simulation.process.manager.events()
    simulation.process.start {
      for await event in events {
        if case .waiting(let reason) = event.kind { reasons.withLockedValue { $0.append(reason) } }
      }
    }
    let transfer = try add(simulation, "f", in: 60)
    let ids = [transfer.id]
    let view = try simulation.call { try await $0.coordinator.views(of: ids).first }
    #expect(view?.nextWaitReason == .suspended, "a start alone would not start it")
    simulation.pass(.seconds(120))
    #expect(!hasStarted(simulation, "f"))
    #expect(reasons.withLockedValue { $0.last } == .suspended, "the new reason is reported")
    #expect(try simulation.call { _ in await transfer.waitReason } == .suspended)
    try simulation.call { await $0.unsuspend() }
    simulation.pass(.seconds(1))
    #expect(hasStarted(simulation, "f"))
    try simulation.end()
  }

  @Test func `It waits for its dependency first, and then for its time`() throws {
    let simulation = SimulatedManager(active: 2)
    let first = try add(simulation, "first", in: 60)
    let second = try add(simulation, "second", in: 600, after: first)
    #expect(
      try simulation.call { _ in await second.waitReason }
        == .dependency(first.id, isBlocked: false))
    simulation.pass(.seconds(300))
    #expect(try simulation.state(first) == .completed)
    #expect(
      try simulation.call { _ in await second.waitReason }
        == .startTime(until: QueueWorld.wallStart + 600))
    simulation.pass(.seconds(301))
    #expect(hasStarted(simulation, "second"))
    try simulation.end()
  }

  @Test func `A transfer that ran gets another rate limit, whatever its start time was`() throws {
    let simulation = SimulatedManager()
    simulation.servers.behaviours.pauses = false
    var request = try simulation.download("f", length: 16 << 20) { $0.rateLimit = 1 << 10 }
    request.startSeconds = simulation.process.clock.wallSeconds + 10
    let added = request
    let transfer = try simulation.call { try await $0.add(added) }
    simulation.pass(.seconds(20))
    #expect(try simulation.state(transfer) == .running)
    try simulation.call { _ in try await transfer.set { $0.download?.rateLimit = nil } }
    try simulation.runOut()
    #expect(try simulation.state(transfer) == .completed)
    try simulation.end()
  }
}
