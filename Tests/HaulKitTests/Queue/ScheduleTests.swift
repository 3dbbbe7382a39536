import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Case 25, schedules: outside a window nothing runs; what stops, and what resumes by itself. On
/// simulated ports, whose week begins at 00:00 UTC of a Saturday, with time that the test controls.
@Suite struct ScheduleTests {
  /// From midnight for a minute, and again from 00:10.
  private static let twice = Schedule(
    [.init([.saturday], from: 0, to: 1), .init([.saturday], from: 10, to: 600)], timeZone: "UTC")
  private static let never = Schedule([])
  /// So long that no test reaches its end in a window of a minute.
  private static let long: Int64 = 40 << 20
  private static let short: Int64 = 400 << 10

  private func add(
    _ scene: SimulatedManager, _ name: String, length: Int64 = Self.short,
    _ change: (inout TransferRequest) -> Void = { _ in }
  ) throws -> Transfer {
    var request = try scene.download(name, length: length)
    change(&request)
    let added = request
    return try scene.call { try await $0.add(added) }
  }

  private func add(_ scene: SimulatedManager, step name: String, turns: Int) throws -> Transfer {
    let request = scene.step(name, turns: turns)
    return try scene.call { try await $0.add(request) }
  }

  /// How often something was reported.
  private func count(_ scene: SimulatedManager, _ text: String) -> Int {
    scene.ledger.withLockedValue { $0.trace.count { $0.contains(text) } }
  }

  private func hears(_ scene: SimulatedManager) {
    let (events, process) = (scene.process.manager.events(), scene.process)
    let subscriber = SimulatedSubscriber(number: 1, isSlow: false, ledger: scene.ledger)
    process.start { await subscriber.read(events, process) }
  }

  private func wait(_ scene: SimulatedManager, for transfer: Transfer, to be: TransferState) throws
  {
    for _ in 0..<2_000 where try scene.state(transfer) != be { scene.pass(.milliseconds(10)) }
    #expect(try scene.state(transfer) == be)
  }

  private func setSchedule(_ scene: SimulatedManager, _ schedule: Schedule?) throws {
    try scene.call { try await $0.setSchedule(schedule) }
  }

  @Test func `A download stops at the end of a window, and resumes in the next one`() throws {
    let scene = SimulatedManager(schedule: Self.twice)
    hears(scene)
    scene.process.clock.adjustWallClock(by: 57)
    let first = try add(scene, "first", length: 4 << 20)
    let second = try add(scene, "second")
    scene.pass(.seconds(10))
    #expect(try scene.state(first) == .queued)
    #expect(scene.ledger.withLockedValue { $0.fetches.isEmpty }, "no connection is left")
    let bytes = scene.received("first")
    #expect(bytes > 0)
    scene.pass(.seconds(9 * 60 - 10))
    #expect(scene.received("first") == bytes)
    #expect(try scene.state(second) == .queued)
    #expect(scene.received("second") == 0)
    #expect(count(scene, "waiting") > 0)
    scene.pass(.seconds(5))
    #expect(try scene.state(first) == .running, "it has its slot again")
    #expect(try scene.state(second) == .queued)
    try scene.runOut()
    let result = try scene.call { _ in try await first.result }
    #expect(result.reused > 0)
    #expect(result.fetched < 4 << 20)
    #expect(result.metrics?.retries == 0)
    #expect(try scene.state(second) == .completed)
    for told in ["paused", "resumed", "attempt"] { #expect(count(scene, told) == 0) }
    try scene.end()
  }

  @Test func `A transfer that waits for the next window reports its time`() throws {
    let scene = SimulatedManager(schedule: Self.twice)
    let reasons = NIOLockedValueBox<[WaitReason]>([])
    let events = scene.process.manager.events()
    scene.process.start {
      for await event in events {
        guard case .waiting(let reason) = event.kind else { continue }
        reasons.withLockedValue { $0.append(reason) }
      }
    }
    scene.process.clock.adjustWallClock(by: 57)
    _ = try add(scene, "first", length: Self.long)
    scene.pass(.seconds(10))
    let closed = WaitReason.schedule(
      "outside the schedule until Saturday 00:10 (UTC)", until: QueueWorld.wallStart + 600)
    #expect(reasons.withLockedValue { $0 } == [closed], "the stopped one")
    _ = try add(scene, "second")
    #expect(reasons.withLockedValue { $0 } == [closed, closed], "the added one")
    try scene.end()
  }

  @Test func `A transfer that a user paused stays paused when a window opens`() throws {
    let scene = SimulatedManager(active: 3, schedule: Self.twice)
    scene.process.clock.adjustWallClock(by: 57)
    let before = try add(scene, "before", length: Self.long)
    let meanwhile = try add(scene, "meanwhile", length: Self.long)
    let other = try add(scene, "other", length: Self.long)
    scene.pass(.seconds(1))
    scene.send(.pause, before)
    scene.pass(.seconds(1))
    // The clock shows that the window is over: the first check stops all.
    scene.process.clock.adjustWallClock(by: 60)
    scene.send(.pause, meanwhile)
    scene.pass(.seconds(120))
    #expect(try scene.state(other) == .queued)
    scene.pass(.seconds(15 * 60))
    #expect(try scene.state(before) == .paused)
    #expect(try scene.state(meanwhile) == .paused)
    #expect(try scene.state(other) != .queued)
    scene.send(.resume, before)
    scene.pass(.seconds(1))
    #expect(try scene.state(before) != .paused)
    try scene.end()
  }

  @Test func `A window that opens does not end a suspension`() throws {
    let scene = SimulatedManager(schedule: Self.never)
    let transfer = try add(scene, "f")
    try scene.call { await $0.suspend() }
    try setSchedule(scene, nil)
    scene.pass(.seconds(60))
    #expect(try scene.state(transfer) == .queued)
    try scene.call { await $0.unsuspend() }
    try scene.runOut()
    #expect(try scene.state(transfer) == .completed)
    try scene.end()
  }

  @Test func `A transfer whose start the store refused waits when the window has closed`() throws {
    let scene = SimulatedManager()
    _ = try add(scene, step: "before", turns: 3)
    let transfer = try add(scene, "f")
    scene.refuseChanges(true)
    scene.pass(.seconds(3))
    try setSchedule(scene, Self.never)
    #expect(throws: TransferError.self) {
      _ = try scene.call { try await $0.setPriority(.utility, of: .all) }
    }
    scene.refuseChanges(false)
    _ = try add(scene, "another")
    scene.pass(.seconds(5))
    #expect(try scene.state(transfer) == .queued)
    #expect(scene.ledger.withLockedValue { $0.fetches.isEmpty })
    try setSchedule(scene, nil)
    try scene.runOut()
    #expect(try scene.state(transfer) == .completed)
    try scene.end()
  }

  @Test func `A running step continues to its end, and the next one waits`() throws {
    let scene = SimulatedManager(schedule: Self.twice)
    scene.process.clock.adjustWallClock(by: 59)
    let first = try add(scene, step: "first", turns: 40)
    let second = try add(scene, step: "second", turns: 1)
    scene.pass(.seconds(3))
    #expect(try scene.state(first) == .running)
    scene.pass(.seconds(60))
    #expect(try scene.state(first) == .completed)
    #expect(try scene.state(second) == .queued)
    scene.pass(.seconds(600))
    #expect(try scene.state(second) == .completed)
    try scene.end()
  }

  @Test func `A stream with a reader continues`() throws {
    let scene = SimulatedManager(schedule: Self.twice)
    scene.process.clock.adjustWallClock(by: 58)
    let stream = try add(scene, "stream", length: 1 << 20) { $0.download?.destination = .stream }
    let bytes = try scene.call { try await $0.bytes(of: stream) }
    let read = scene.begin { _ in
      var count = 0
      for try await chunk in bytes { count += chunk.count }
      return count
    }
    scene.pass(.seconds(120))
    let count = try #require(read.withLockedValue { $0 }).get()
    #expect(count == 1 << 20)
    try scene.end()
  }

  @Test func `With a limit of one, the slot is freed once and one transfer resumes`() throws {
    let scene = SimulatedManager(schedule: Self.twice)
    let transfers = try ["a", "b", "c"].map { try add(scene, $0, length: Self.long) }
    for _ in 0..<6 {
      try wait(scene, for: transfers[0], to: .running)
      try setSchedule(scene, Self.never)
      scene.pass(.seconds(5))
      #expect(try transfers.map { try scene.state($0) } == [.queued, .queued, .queued])
      try setSchedule(scene, Self.twice)
      scene.pass(.milliseconds(500))
      #expect(try transfers.map { try scene.state($0) } == [.running, .queued, .queued])
    }
    try scene.end()
  }

  @Test func `A forced transfer runs outside a window, and a started one waits`() throws {
    let scene = SimulatedManager(schedule: Self.never)
    let forced = try add(scene, "forced", length: 1 << 20)
    let started = try add(scene, "started")
    scene.send(.start, started)
    scene.pass(.seconds(300))
    #expect(try scene.state(forced) == .queued)
    #expect(try scene.state(started) == .queued)
    scene.send(.force, forced)
    scene.pass(.seconds(300))
    #expect(try scene.state(forced) == .completed)
    #expect(try scene.state(started) == .queued)
    try setSchedule(scene, nil)
    try scene.runOut()
    #expect(try scene.state(started) == .completed)
    try scene.end()
  }

  @Test(arguments: [600.0, -600.0])
  func `A clock set outside the window stops all transfers, and setting it back resumes them`(
    jump: Double
  ) throws {
    let hour = Schedule([.init([.saturday], from: 5, to: 12)], timeZone: "UTC")
    let scene = SimulatedManager(schedule: hour)
    scene.process.clock.adjustWallClock(by: 310)
    let transfer = try add(scene, "f", length: Self.long)
    try wait(scene, for: transfer, to: .running)
    scene.process.clock.adjustWallClock(by: jump)
    scene.pass(.seconds(62))
    #expect(try scene.state(transfer) == .queued)
    #expect(scene.ledger.withLockedValue { $0.fetches.isEmpty })
    let bytes = scene.received("f")
    scene.pass(.seconds(60))
    #expect(scene.received("f") == bytes)
    scene.process.clock.adjustWallClock(by: -jump)
    scene.pass(.seconds(62))
    #expect(try scene.state(transfer) == .running)
    try scene.end()
  }

  @Test func `What waits for a window starts when a command that starts nothing notices it`() throws
  {
    let hour = Schedule([.init([.saturday], from: 5, to: 12)], timeZone: "UTC")
    let scene = SimulatedManager(schedule: hour)
    let first = try add(scene, "first", length: Self.long)
    let second = try add(scene, "second", length: Self.long)
    #expect(try scene.state(first) == .queued)
    scene.process.clock.adjustWallClock(by: 310)
    scene.ledger.withLockedValue { $0.moves = 1 }
    try scene.call { manager in _ = try await manager.move(.ids([second.id]), to: .first) }
    scene.pass(.seconds(1))
    #expect(try scene.state(second) == .running)
    try scene.end()
  }

  @Test func `A window in an hour that the clocks skip does not open that night`() throws {
    let hour = Schedule([.init(.everyDay, from: 120, to: 180)], timeZone: "Europe/Berlin")
    let scene = SimulatedManager(schedule: hour)
    // 2026-03-29 00:30 UTC, 01:30 in Berlin; half an hour later it is 03:00 there.
    scene.process.clock.adjustWallClock(by: 1_774_744_200 - QueueWorld.wallStart)
    let transfer = try add(scene, "f")
    scene.pass(.seconds(23 * 3600))
    #expect(try scene.state(transfer) == .queued)
    // 02:00 of the next day is at 00:00 UTC.
    scene.pass(.seconds(1800 + 60))
    #expect(try scene.state(transfer) == .completed)
    try scene.end()
  }

  @Test func `A window's end stops a transfer even if the store refuses the change`() throws {
    let scene = SimulatedManager(schedule: Self.twice)
    scene.process.clock.adjustWallClock(by: 57)
    let transfer = try add(scene, "f", length: Self.long)
    scene.pass(.seconds(1))
    scene.refuseChanges(true)
    scene.pass(.seconds(20))
    #expect(try scene.state(transfer) == .stopping, "its end is not stored")
    #expect(scene.ledger.withLockedValue { $0.fetches.isEmpty })
    scene.refuseChanges(false)
    scene.pass(.seconds(3))
    #expect(try scene.state(transfer) == .queued)
    try scene.end()
  }

  @Test func `A retry due after the end of a window waits for the next one`() throws {
    let scene = SimulatedManager(schedule: Self.twice)
    scene.process.clock.adjustWallClock(by: 57)
    scene.servers.behaviours.faultOneIn = 1
    let transfer = try add(scene, "f") { $0.download?.retry.retries = 100 }
    for _ in 0..<290 where count(scene, "fault") == 0 { scene.pass(.milliseconds(10)) }
    scene.pass(.seconds(10))
    #expect(try scene.state(transfer) == .queued)
    let asked = count(scene, "asks")
    #expect(asked > 0)
    scene.servers.behaviours.faultOneIn = nil
    scene.pass(.seconds(500))
    #expect(count(scene, "asks") == asked, "no attempt is made")
    scene.pass(.seconds(60))
    #expect(try scene.state(transfer) == .completed)
    try scene.end()
  }

  @Test func `Nothing starts after a restart outside a window`() async throws {
    let scene = SimulatedManager(schedule: Self.twice)
    let transfer = try add(scene, "f", length: Self.long)
    try wait(scene, for: transfer, to: .running)
    try scene.end()
    let next = SimulatedManager(schedule: Self.never, memory: scene.memory)
    next.ledger.withLockedValue { ledger in
      ledger.members = scene.ledger.withLockedValue { $0.members }
    }
    try next.call { try await $0.open() }
    next.pass(.seconds(300))
    let summaries = try next.call { await $0.summaries() }
    #expect(summaries.map(\.state) == [.queued])
    #expect(next.ledger.withLockedValue { $0.fetches.isEmpty })
    try next.call { await $0.shutdown() }
    #expect(next.process.clock.sleeperCount == 0)
  }

  @Test func `A manager that shuts down outside a window leaves nothing behind`() throws {
    let scene = SimulatedManager(schedule: Self.never)
    _ = try add(scene, "f")
    scene.pass(.seconds(100))
    try scene.end()
    #expect(scene.process.clock.sleeperCount == 0)
  }

  @Test func `A manager with nothing to run does not check the clock`() throws {
    let scene = SimulatedManager(schedule: Self.twice)
    let transfer = try add(scene, "f", length: 1000)
    try scene.runOut()
    scene.pass(.seconds(120))
    #expect(scene.process.clock.sleeperCount == 0)
    let other = try add(scene, "g", length: 1000)
    #expect(try scene.state(transfer) == .completed)
    #expect(try scene.state(other) == .queued, "an addition checks the clock")
    scene.pass(.seconds(600))
    #expect(try scene.state(other) == .completed)
    try scene.end()
  }

  @Test func `Unknown time zones and invalid minutes are refused, and change nothing`() throws {
    let unknown = Schedule([], timeZone: "Mars/Olympus")
    let odd = Schedule([.init(.everyDay, from: 0, to: 1500)])
    for wrong in [unknown, odd] {
      var configuration = TransferManager.Configuration()
      configuration.schedule = wrong
      #expect(throws: TransferError.self) { _ = try TransferManager(configuration) }
      let scene = SimulatedManager(schedule: Self.twice)
      #expect(throws: TransferError.self) { try setSchedule(scene, wrong) }
      #expect(try scene.call { await $0.schedule } == Self.twice)
      try scene.end()
    }
  }

  @Test func `The schedule of the configuration applies to a manager on the real clock`()
    async throws
  {
    try await DownloadFixture.with([.plain("a")]) { fixture in
      var configuration = TransferManager.Configuration()
      configuration.schedule = Self.never
      let manager = try TransferManager(configuration)
      do {
        let transfer = try await manager.add(try fixture.request("/a", as: "a"))
        #expect(await transfer.summary?.state == .queued)
        #expect(fixture.server.snapshot.requests.isEmpty)
        let system = Schedule([.init(.everyDay, from: 0, to: 1440)])
        try await manager.setSchedule(system)
        _ = try await transfer.result
      } catch {
        await manager.shutdown()
        throw error
      }
      await manager.shutdown()
    }
  }
}
