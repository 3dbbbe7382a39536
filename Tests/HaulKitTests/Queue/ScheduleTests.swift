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
    _ simulation: SimulatedManager, _ name: String, length: Int64 = Self.short,
    _ change: (inout TransferRequest) -> Void = { _ in }
  ) throws -> Transfer {
    var request = try simulation.download(name, length: length)
    change(&request)
    let added = request
    return try simulation.call { try await $0.add(added) }
  }

  private func add(_ simulation: SimulatedManager, step name: String, turns: Int) throws -> Transfer
  {
    let request = simulation.step(name, turns: turns)
    return try simulation.call { try await $0.add(request) }
  }

  /// How often something was reported.
  private func count(_ simulation: SimulatedManager, _ text: String) -> Int {
    simulation.ledger.withLockedValue { $0.trace.count { $0.contains(text) } }
  }

  private func hears(_ simulation: SimulatedManager) {
    let (events, process) = (simulation.process.manager.events(), simulation.process)
    let subscriber = SimulatedSubscriber(number: 1, isSlow: false, ledger: simulation.ledger)
    process.start { await subscriber.read(events, process) }
  }

  private func wait(_ simulation: SimulatedManager, for transfer: Transfer, to be: TransferState)
    throws
  {
    for _ in 0..<2_000 where try simulation.state(transfer) != be {
      simulation.pass(.milliseconds(10))
    }
    #expect(try simulation.state(transfer) == be)
  }

  private func setSchedule(_ simulation: SimulatedManager, _ schedule: Schedule?) throws {
    try simulation.call { try await $0.setSchedule(schedule) }
  }

  @Test func `A download stops at the end of a window, and resumes in the next one`() throws {
    let simulation = SimulatedManager(schedule: Self.twice)
    hears(simulation)
    simulation.process.clock.adjustWallClock(by: 57)
    let first = try add(simulation, "first", length: 4 << 20)
    let second = try add(simulation, "second")
    simulation.pass(.seconds(10))
    #expect(try simulation.state(first) == .queued)
    #expect(simulation.ledger.withLockedValue { $0.fetches.isEmpty }, "no connection is left")
    let bytes = simulation.received("first")
    #expect(bytes > 0)
    simulation.pass(.seconds(9 * 60 - 10))
    #expect(simulation.received("first") == bytes)
    #expect(try simulation.state(second) == .queued)
    #expect(simulation.received("second") == 0)
    #expect(count(simulation, "waiting") > 0)
    simulation.pass(.seconds(5))
    #expect(try simulation.state(first) == .running, "it has its slot again")
    #expect(try simulation.state(second) == .queued)
    try simulation.runOut()
    let result = try simulation.call { _ in try await first.result }
    #expect(result.reused > 0)
    #expect(result.fetched < 4 << 20)
    #expect(result.metrics?.retries == 0)
    #expect(try simulation.state(second) == .completed)
    for reported in ["paused", "resumed", "attempt"] { #expect(count(simulation, reported) == 0) }
    try simulation.end()
  }

  @Test func `A transfer that waits for the next window reports its time`() throws {
    let simulation = SimulatedManager(schedule: Self.twice)
    let reasons = NIOLockedValueBox<[WaitReason]>([])
    let events = simulation.process.manager.events()
    simulation.process.start {
      for await event in events {
        guard case .waiting(let reason) = event.kind else { continue }
        reasons.withLockedValue { $0.append(reason) }
      }
    }
    simulation.process.clock.adjustWallClock(by: 57)
    _ = try add(simulation, "first", length: Self.long)
    simulation.pass(.seconds(10))
    let closed = WaitReason.schedule(
      "outside the schedule until Saturday 00:10 (UTC)", until: QueueWorld.wallStart + 600)
    #expect(reasons.withLockedValue { $0 } == [closed], "the stopped one")
    _ = try add(simulation, "second")
    #expect(reasons.withLockedValue { $0 } == [closed, closed], "the added one")
    try simulation.end()
  }

  @Test func `A transfer that a user paused stays paused when a window opens`() throws {
    let simulation = SimulatedManager(active: 3, schedule: Self.twice)
    simulation.process.clock.adjustWallClock(by: 57)
    let before = try add(simulation, "before", length: Self.long)
    let meanwhile = try add(simulation, "meanwhile", length: Self.long)
    let other = try add(simulation, "other", length: Self.long)
    simulation.pass(.seconds(1))
    simulation.send(.pause, before)
    simulation.pass(.seconds(1))
    // The clock shows that the window is over: the first check stops all.
    simulation.process.clock.adjustWallClock(by: 60)
    simulation.send(.pause, meanwhile)
    simulation.pass(.seconds(120))
    #expect(try simulation.state(other) == .queued)
    simulation.pass(.seconds(15 * 60))
    #expect(try simulation.state(before) == .paused)
    #expect(try simulation.state(meanwhile) == .paused)
    #expect(try simulation.state(other) != .queued)
    simulation.send(.resume, before)
    simulation.pass(.seconds(1))
    #expect(try simulation.state(before) != .paused)
    try simulation.end()
  }

  @Test func `A window that opens does not end a suspension`() throws {
    let simulation = SimulatedManager(schedule: Self.never)
    let transfer = try add(simulation, "f")
    try simulation.call { await $0.suspend() }
    try setSchedule(simulation, nil)
    simulation.pass(.seconds(60))
    #expect(try simulation.state(transfer) == .queued)
    try simulation.call { await $0.unsuspend() }
    try simulation.runOut()
    #expect(try simulation.state(transfer) == .completed)
    try simulation.end()
  }

  @Test func `A transfer whose start the store refused waits when the window has closed`() throws {
    let simulation = SimulatedManager()
    _ = try add(simulation, step: "before", turns: 3)
    let transfer = try add(simulation, "f")
    simulation.refuseChanges(true)
    simulation.pass(.seconds(3))
    try setSchedule(simulation, Self.never)
    #expect(throws: TransferError.self) {
      _ = try simulation.call { try await $0.setPriority(.utility, of: .all) }
    }
    simulation.refuseChanges(false)
    _ = try add(simulation, "another")
    simulation.pass(.seconds(5))
    #expect(try simulation.state(transfer) == .queued)
    #expect(simulation.ledger.withLockedValue { $0.fetches.isEmpty })
    try setSchedule(simulation, nil)
    try simulation.runOut()
    #expect(try simulation.state(transfer) == .completed)
    try simulation.end()
  }

  @Test func `A running step continues to its end, and the next one waits`() throws {
    let simulation = SimulatedManager(schedule: Self.twice)
    simulation.process.clock.adjustWallClock(by: 59)
    let first = try add(simulation, step: "first", turns: 40)
    let second = try add(simulation, step: "second", turns: 1)
    simulation.pass(.seconds(3))
    #expect(try simulation.state(first) == .running)
    simulation.pass(.seconds(60))
    #expect(try simulation.state(first) == .completed)
    #expect(try simulation.state(second) == .queued)
    simulation.pass(.seconds(600))
    #expect(try simulation.state(second) == .completed)
    try simulation.end()
  }

  @Test func `A stream with a reader continues`() throws {
    let simulation = SimulatedManager(schedule: Self.twice)
    simulation.process.clock.adjustWallClock(by: 58)
    let stream = try add(simulation, "stream", length: 1 << 20) {
      $0.download?.destination = .stream
    }
    let bytes = try simulation.call { try await $0.bytes(of: stream) }
    let read = simulation.begin { _ in
      var count = 0
      for try await chunk in bytes { count += chunk.count }
      return count
    }
    simulation.pass(.seconds(120))
    let count = try #require(read.withLockedValue { $0 }).get()
    #expect(count == 1 << 20)
    try simulation.end()
  }

  @Test func `With a limit of one, the slot is freed once and one transfer resumes`() throws {
    let simulation = SimulatedManager(schedule: Self.twice)
    let transfers = try ["a", "b", "c"].map { try add(simulation, $0, length: Self.long) }
    for _ in 0..<6 {
      try wait(simulation, for: transfers[0], to: .running)
      try setSchedule(simulation, Self.never)
      simulation.pass(.seconds(5))
      #expect(try transfers.map { try simulation.state($0) } == [.queued, .queued, .queued])
      try setSchedule(simulation, Self.twice)
      simulation.pass(.milliseconds(500))
      #expect(try transfers.map { try simulation.state($0) } == [.running, .queued, .queued])
    }
    try simulation.end()
  }

  @Test func `A forced transfer runs outside a window, and a started one waits`() throws {
    let simulation = SimulatedManager(schedule: Self.never)
    let forced = try add(simulation, "forced", length: 1 << 20)
    let started = try add(simulation, "started")
    simulation.send(.start, started)
    simulation.pass(.seconds(300))
    #expect(try simulation.state(forced) == .queued)
    #expect(try simulation.state(started) == .queued)
    simulation.send(.force, forced)
    simulation.pass(.seconds(300))
    #expect(try simulation.state(forced) == .completed)
    #expect(try simulation.state(started) == .queued)
    try setSchedule(simulation, nil)
    try simulation.runOut()
    #expect(try simulation.state(started) == .completed)
    try simulation.end()
  }

  @Test(arguments: [600.0, -600.0])
  func `A clock set outside the window stops all transfers, and setting it back resumes them`(
    jump: Double
  ) throws {
    let hour = Schedule([.init([.saturday], from: 5, to: 12)], timeZone: "UTC")
    let simulation = SimulatedManager(schedule: hour)
    simulation.process.clock.adjustWallClock(by: 310)
    let transfer = try add(simulation, "f", length: Self.long)
    try wait(simulation, for: transfer, to: .running)
    simulation.process.clock.adjustWallClock(by: jump)
    simulation.pass(.seconds(62))
    #expect(try simulation.state(transfer) == .queued)
    #expect(simulation.ledger.withLockedValue { $0.fetches.isEmpty })
    let bytes = simulation.received("f")
    simulation.pass(.seconds(60))
    #expect(simulation.received("f") == bytes)
    simulation.process.clock.adjustWallClock(by: -jump)
    simulation.pass(.seconds(62))
    #expect(try simulation.state(transfer) == .running)
    try simulation.end()
  }

  @Test func `What waits for a window starts when a command that starts nothing notices it`() throws
  {
    let hour = Schedule([.init([.saturday], from: 5, to: 12)], timeZone: "UTC")
    let simulation = SimulatedManager(schedule: hour)
    let first = try add(simulation, "first", length: Self.long)
    let second = try add(simulation, "second", length: Self.long)
    #expect(try simulation.state(first) == .queued)
    simulation.process.clock.adjustWallClock(by: 310)
    simulation.ledger.withLockedValue { $0.moves = 1 }
    try simulation.call { manager in _ = try await manager.move(.ids([second.id]), to: .first) }
    simulation.pass(.seconds(1))
    #expect(try simulation.state(second) == .running)
    try simulation.end()
  }

  @Test func `A window in an hour that the clocks skip does not open that night`() throws {
    let hour = Schedule([.init(.everyDay, from: 120, to: 180)], timeZone: "Europe/Berlin")
    let simulation = SimulatedManager(schedule: hour)
    // 2026-03-29 00:30 UTC, 01:30 in Berlin; half an hour later it is 03:00 there.
    simulation.process.clock.adjustWallClock(by: 1_774_744_200 - QueueWorld.wallStart)
    let transfer = try add(simulation, "f")
    simulation.pass(.seconds(23 * 3600))
    #expect(try simulation.state(transfer) == .queued)
    // 02:00 of the next day is at 00:00 UTC.
    simulation.pass(.seconds(1800 + 60))
    #expect(try simulation.state(transfer) == .completed)
    try simulation.end()
  }

  @Test func `A window's end stops a transfer even if the store refuses the change`() throws {
    let simulation = SimulatedManager(schedule: Self.twice)
    simulation.process.clock.adjustWallClock(by: 57)
    let transfer = try add(simulation, "f", length: Self.long)
    simulation.pass(.seconds(1))
    simulation.refuseChanges(true)
    simulation.pass(.seconds(20))
    #expect(try simulation.state(transfer) == .stopping, "its end is not stored")
    #expect(simulation.ledger.withLockedValue { $0.fetches.isEmpty })
    simulation.refuseChanges(false)
    simulation.pass(.seconds(3))
    #expect(try simulation.state(transfer) == .queued)
    try simulation.end()
  }

  @Test func `A retry due after the end of a window waits for the next one`() throws {
    let simulation = SimulatedManager(schedule: Self.twice)
    simulation.process.clock.adjustWallClock(by: 57)
    simulation.servers.behaviours.faultOneIn = 1
    let transfer = try add(simulation, "f") { $0.download?.retry.retries = 100 }
    for _ in 0..<290 where count(simulation, "fault") == 0 { simulation.pass(.milliseconds(10)) }
    simulation.pass(.seconds(10))
    #expect(try simulation.state(transfer) == .queued)
    let asked = count(simulation, "asks")
    #expect(asked > 0)
    simulation.servers.behaviours.faultOneIn = nil
    simulation.pass(.seconds(500))
    #expect(count(simulation, "asks") == asked, "no attempt is made")
    simulation.pass(.seconds(60))
    #expect(try simulation.state(transfer) == .completed)
    try simulation.end()
  }

  @Test func `Nothing starts after a restart outside a window`() async throws {
    let simulation = SimulatedManager(schedule: Self.twice)
    let transfer = try add(simulation, "f", length: Self.long)
    try wait(simulation, for: transfer, to: .running)
    try simulation.end()
    let next = SimulatedManager(schedule: Self.never, memory: simulation.memory)
    next.ledger.withLockedValue { ledger in
      ledger.members = simulation.ledger.withLockedValue { $0.members }
    }
    try next.call { try await $0.coordinator.open() }
    next.pass(.seconds(300))
    let summaries = try next.call { await $0.summaries() }
    #expect(summaries.map(\.state) == [.queued])
    #expect(next.ledger.withLockedValue { $0.fetches.isEmpty })
    try next.call { await $0.shutdown() }
    #expect(next.process.clock.sleeperCount == 0)
  }

  @Test func `A manager that shuts down outside a window leaves nothing behind`() throws {
    let simulation = SimulatedManager(schedule: Self.never)
    _ = try add(simulation, "f")
    simulation.pass(.seconds(100))
    try simulation.end()
    #expect(simulation.process.clock.sleeperCount == 0)
  }

  @Test func `A manager with nothing to run does not check the clock`() throws {
    let simulation = SimulatedManager(schedule: Self.twice)
    let transfer = try add(simulation, "f", length: 1000)
    try simulation.runOut()
    simulation.pass(.seconds(120))
    #expect(simulation.process.clock.sleeperCount == 0)
    let other = try add(simulation, "g", length: 1000)
    #expect(try simulation.state(transfer) == .completed)
    #expect(try simulation.state(other) == .queued, "an addition checks the clock")
    simulation.pass(.seconds(600))
    #expect(try simulation.state(other) == .completed)
    try simulation.end()
  }

  @Test func `Unknown time zones and invalid minutes are refused, and change nothing`() throws {
    let unknown = Schedule([], timeZone: "Mars/Olympus")
    let odd = Schedule([.init(.everyDay, from: 0, to: 1500)])
    for wrong in [unknown, odd] {
      var configuration = TransferManager.Configuration()
      configuration.schedule = wrong
      #expect(throws: TransferError.self) { _ = try TransferManager(configuration) }
      let simulation = SimulatedManager(schedule: Self.twice)
      #expect(throws: TransferError.self) { try setSchedule(simulation, wrong) }
      #expect(try simulation.call { $0.configuration.schedule } == Self.twice)
      try simulation.end()
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
