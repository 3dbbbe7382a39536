import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Transfers with a start time, on simulated ports, with time that the test controls.
@Suite struct TransferStartTimeTests {
  private func add(
    _ scene: SimulatedManager, _ name: String, in seconds: Double, after: Transfer? = nil
  ) throws -> Transfer {
    var request = try scene.download(name)
    request.startsAt = scene.process.clock.wallSeconds + seconds
    if let after { request.after = [.transfer(after.id)] }
    let added = request
    return try scene.call { try await $0.add(added) }
  }

  private func hasStarted(_ scene: SimulatedManager, _ name: String) -> Bool {
    scene.received(name) > 0
      || scene.machine.contents(of: name, in: QueueWorld.directory) != nil
  }

  @Test func `It starts at its time, and takes no slot before`() throws {
    let scene = SimulatedManager(active: 1)
    let reasons = NIOLockedValueBox<[WaitReason]>([])
    let events = scene.process.manager.events()
    scene.process.start {
      for await event in events {
        guard case .waiting(let reason) = event.kind else { continue }
        #expect(event.url != nil)
        reasons.withLockedValue { $0.append(reason) }
      }
    }
    let late = try add(scene, "late", in: 3600)
    let request = try scene.download("other")
    let other = try scene.call { try await $0.add(request) }
    scene.pass(.seconds(3599))
    #expect(try scene.state(other) == .completed)
    #expect(try scene.state(late) == .queued)
    let reason = WaitReason.startTime(until: QueueWorld.wallStart + 3600)
    #expect(try scene.call { _ in await late.waitReason } == reason)
    #expect(reasons.withLockedValue { $0 } == [reason])
    #expect(!hasStarted(scene, "late"))
    scene.pass(.seconds(1.1))
    #expect(hasStarted(scene, "late"))
    try scene.runOut()
    #expect(try scene.state(late) == .completed)
    try scene.end()
  }

  @Test func `A past time is at once`() throws {
    let scene = SimulatedManager()
    let transfer = try add(scene, "f", in: -1)
    try scene.runOut()
    #expect(scene.process.clock.now < Instant(.seconds(60)))
    #expect(try scene.state(transfer) == .completed)
    try scene.end()
  }

  @Test func `When the clock is set forward past the time, it starts within a minute`() throws {
    let scene = SimulatedManager()
    _ = try add(scene, "f", in: 7200)
    scene.pass(.seconds(30))
    scene.process.clock.adjustWallClock(by: 7200)
    scene.pass(.seconds(61))
    #expect(hasStarted(scene, "f"))
    try scene.end()
  }

  @Test func `When the clock is set back, it waits until the clock reaches the time`() throws {
    let scene = SimulatedManager()
    let transfer = try add(scene, "f", in: 600)
    scene.pass(.seconds(590))
    scene.process.clock.adjustWallClock(by: -300)
    scene.pass(.seconds(305))
    #expect(!hasStarted(scene, "f"))
    #expect(try scene.state(transfer) == .queued)
    scene.pass(.seconds(10))
    #expect(hasStarted(scene, "f"))
    try scene.end()
  }

  @Test func `A restart of the program keeps the time`() throws {
    let scene = SimulatedManager()
    _ = try add(scene, "f", in: 600)
    scene.pass(.seconds(10))
    try scene.end()
    let next = scene.next()
    try next.call { try await $0.open() }
    next.process.clock.adjustWallClock(by: 10)
    next.pass(.seconds(580))
    #expect(!hasStarted(next, "f"))
    next.pass(.seconds(11))
    #expect(hasStarted(next, "f"))
    try next.call { await $0.shutdown() }
  }

  @Test func `Start runs it at once, and set gives it another time`() throws {
    let scene = SimulatedManager(active: 2)
    let first = try add(scene, "first", in: 600)
    let second = try add(scene, "second", in: 600)
    scene.send(.start, first)
    scene.pass(.seconds(1))
    #expect(hasStarted(scene, "first"))
    let time = scene.process.clock.wallSeconds + 1200
    try scene.call { _ in try await second.set { $0.startsAt = time } }
    scene.pass(.seconds(1199))
    #expect(!hasStarted(scene, "second"))
    scene.pass(.seconds(2))
    #expect(hasStarted(scene, "second"))
    try scene.end()
  }

  @Test func `In a suspended list it waits on after its time, with that reason`() throws {
    let scene = SimulatedManager()
    try scene.call { await $0.suspend() }
    let reasons = NIOLockedValueBox<[WaitReason]>([])
    let events = scene.process.manager.events()
    scene.process.start {
      for await event in events {
        if case .waiting(let reason) = event.kind { reasons.withLockedValue { $0.append(reason) } }
      }
    }
    let transfer = try add(scene, "f", in: 60)
    let ids = [transfer.id]
    let view = try scene.call { try await $0.rows(of: ids).first }
    #expect(view?.nextWaitReason == .suspended, "a start alone would not start it")
    scene.pass(.seconds(120))
    #expect(!hasStarted(scene, "f"))
    #expect(reasons.withLockedValue { $0.last } == .suspended, "the new reason is reported")
    #expect(try scene.call { _ in await transfer.waitReason } == .suspended)
    try scene.call { await $0.unsuspend() }
    scene.pass(.seconds(1))
    #expect(hasStarted(scene, "f"))
    try scene.end()
  }

  @Test func `It waits for its dependency first, and then for its time`() throws {
    let scene = SimulatedManager(active: 2)
    let first = try add(scene, "first", in: 60)
    let second = try add(scene, "second", in: 600, after: first)
    #expect(
      try scene.call { _ in await second.waitReason } == .dependency(first.id, isBlocked: false))
    scene.pass(.seconds(300))
    #expect(try scene.state(first) == .completed)
    #expect(
      try scene.call { _ in await second.waitReason }
        == .startTime(until: QueueWorld.wallStart + 600))
    scene.pass(.seconds(301))
    #expect(hasStarted(scene, "second"))
    try scene.end()
  }

  @Test func `A transfer that ran gets another rate limit, whatever its start time was`() throws {
    let scene = SimulatedManager()
    scene.servers.behaviours.pauses = false
    var request = try scene.download("f", length: 16 << 20) { $0.rateLimit = 1 << 10 }
    request.startsAt = scene.process.clock.wallSeconds + 10
    let added = request
    let transfer = try scene.call { try await $0.add(added) }
    scene.pass(.seconds(20))
    #expect(try scene.state(transfer) == .running)
    try scene.call { _ in try await transfer.set { $0.download?.rateLimit = nil } }
    try scene.runOut()
    #expect(try scene.state(transfer) == .completed)
    try scene.end()
  }
}
