import FoundationEssentials
import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Transfers that run again after each end, with time that the test controls.
@Suite struct RepeatingTransferTests {
  private func add(
    _ simulation: SimulatedManager, _ name: String, _ repetition: Repetition,
    in seconds: Double? = nil
  ) throws -> Transfer {
    var request = try simulation.download(name)
    request.repetition = repetition
    request.startSeconds = seconds.map { simulation.process.clock.wallSeconds + $0 }
    let added = request
    return try simulation.call { try await $0.add(added) }
  }

  /// The ends that it reports from now on.
  private func ends(_ simulation: SimulatedManager) -> NIOLockedValueBox<[TransferResult.State]> {
    let ends = NIOLockedValueBox<[TransferResult.State]>([])
    let events = simulation.process.manager.events()
    simulation.process.start {
      for await event in events {
        guard case .finished(let result) = event.kind else { continue }
        ends.withLockedValue { $0.append(result.state) }
      }
    }
    return ends
  }

  private func reason(_ simulation: SimulatedManager, _ transfer: Transfer) throws -> WaitReason? {
    try simulation.call { _ in await transfer.waitReason }
  }

  private let hourly = Repetition.every(.seconds(3600))
  private let start = QueueWorld.wallStart

  @Test func `It runs again at its planned times, and waits without a slot in between`() throws {
    let simulation = SimulatedManager(active: 1)
    let ends = ends(simulation)
    let transfer = try add(simulation, "f", hourly)
    simulation.pass(.seconds(600))
    #expect(ends.withLockedValue { $0 } == [.completed])
    #expect(try simulation.state(transfer) == .queued)
    #expect(try reason(simulation, transfer) == .startTime(until: start + 3600))
    let other = try simulation.download("other")
    let next = try simulation.call { try await $0.add(other) }
    simulation.pass(.seconds(600))
    #expect(try simulation.state(next) == .completed)
    simulation.pass(.seconds(2300))
    #expect(ends.withLockedValue { $0.count } == 2)
    simulation.pass(.seconds(300))
    #expect(ends.withLockedValue { $0.count } == 3, "one for the other")
    #expect(try reason(simulation, transfer) == .startTime(until: start + 7200))
    try simulation.call { await $0.shutdown() }
  }

  @Test func `A failure does not end the repetition`() throws {
    let simulation = SimulatedManager()
    let ends = ends(simulation)
    let transfer = try add(simulation, "f", hourly)
    simulation.pass(.seconds(60))
    #expect(ends.withLockedValue { $0 } == [.completed])
    simulation.servers["f"]?.isMissing = true
    simulation.pass(.seconds(1800))
    simulation.pass(.seconds(3600))
    #expect(ends.withLockedValue { $0.last } == .failed)
    #expect(try simulation.state(transfer) == .queued)
    simulation.servers["f"]?.isMissing = false
    simulation.pass(.seconds(3600))
    #expect(ends.withLockedValue { $0.last } == .completed)
    try simulation.call { await $0.shutdown() }
  }

  @Test func `What was missed while the program did not run is made up for once`() throws {
    let simulation = SimulatedManager()
    let id = try add(simulation, "f", hourly).id
    simulation.pass(.seconds(600))
    let next = simulation.kill()
    let ends = ends(next)
    next.process.clock.adjustWallClock(by: 10.5 * 3600)
    try next.call { try await $0.coordinator.open() }
    next.pass(.seconds(60))
    #expect(ends.withLockedValue { $0 } == [.completed], "not ten times")
    let time = try next.call { try await $0.transfer(id)?.waitReason?.untilSeconds }
    #expect(time.map { ($0 - start).truncatingRemainder(dividingBy: 3600) } == 0, "as planned")
    #expect(time.map { $0 > next.process.clock.wallSeconds } == true)
    try next.call { await $0.shutdown() }
  }

  @Test func `A pause holds it, and a resume runs what has become due, once`() throws {
    let simulation = SimulatedManager()
    let ends = ends(simulation)
    let transfer = try add(simulation, "f", hourly)
    simulation.pass(.seconds(600))
    try simulation.call { _ in try await transfer.pause() }
    simulation.pass(.seconds(5 * 3600))
    #expect(ends.withLockedValue { $0.count } == 1)
    try simulation.call { _ in try await transfer.resume() }
    simulation.pass(.seconds(60))
    #expect(ends.withLockedValue { $0.count } == 2)
    #expect(try simulation.state(transfer) == .queued)
    try simulation.call { await $0.shutdown() }
  }

  @Test func `A run that takes longer than the interval is not started twice`() throws {
    let simulation = SimulatedManager(active: 2)
    let ends = ends(simulation)
    let transfer = try add(simulation, "f", .every(.seconds(60)))
    simulation.pass(.seconds(30))
    #expect(ends.withLockedValue { $0.count } == 1)
    // Its first byte takes longer than two intervals.
    simulation.servers["f"]?.preparation = .seconds(150)
    simulation.pass(.seconds(100))
    #expect(try simulation.state(transfer) == .running)
    #expect(ends.withLockedValue { $0.count } == 1)
    simulation.servers["f"]?.preparation = .zero
    simulation.pass(.seconds(90))
    let planned = try reason(simulation, transfer)?.untilSeconds
    #expect(planned.map { ($0 - start).truncatingRemainder(dividingBy: 60) } == 0)
    try simulation.call { await $0.shutdown() }
  }

  @Test func `A clock that is set back does not delay the next run by more than an interval`()
    throws
  {
    let simulation = SimulatedManager()
    let ends = ends(simulation)
    let transfer = try add(simulation, "f", hourly)
    // Ten intervals later, so that the clock can go back behind the start of none.
    simulation.pass(.seconds(36_600))
    let count = ends.withLockedValue { $0.count }
    simulation.process.clock.adjustWallClock(by: -5 * 3600)
    simulation.pass(.seconds(61))
    let until = try #require(try reason(simulation, transfer)?.untilSeconds)
    #expect(until - simulation.process.clock.wallSeconds <= 3600)
    simulation.pass(.seconds(3600))
    #expect(ends.withLockedValue { $0.count } == count + 1)
    try simulation.call { await $0.shutdown() }
  }

  @Test func `Set gives it another interval, and none ends it`() throws {
    let simulation = SimulatedManager()
    let ends = ends(simulation)
    let transfer = try add(simulation, "f", hourly)
    simulation.pass(.seconds(600))
    try simulation.call { _ in try await transfer.set { $0.repetition = .every(.seconds(600)) } }
    let until = try #require(try reason(simulation, transfer)?.untilSeconds)
    #expect(abs(until - (simulation.process.clock.wallSeconds + 600)) < 1)
    simulation.pass(.seconds(700))
    #expect(ends.withLockedValue { $0.count } == 2)
    try simulation.call { _ in try await transfer.set { $0.repetition = nil } }
    #expect(try simulation.state(transfer) == .completed)
    simulation.pass(.seconds(7200))
    #expect(ends.withLockedValue { $0.count } == 3, "the end of the last run is its end")
    try simulation.call { await $0.shutdown() }
  }

  @Test func `The first run is at its start time, and the others follow from that`() throws {
    let simulation = SimulatedManager()
    let ends = ends(simulation)
    let transfer = try add(simulation, "f", hourly, in: 1800)
    #expect(try reason(simulation, transfer) == .startTime(until: start + 1800))
    simulation.pass(.seconds(2000))
    #expect(ends.withLockedValue { $0 } == [.completed])
    #expect(try reason(simulation, transfer) == .startTime(until: start + 5400))
    try simulation.call { await $0.shutdown() }
  }

  @Test func `What cannot be repeated is refused, and nothing is added`() throws {
    let simulation = SimulatedManager()
    var request = simulation.step("s", turns: 1)
    request.repetition = hourly
    let added = request
    #expect(throws: TransferError.self) { try simulation.call { try await $0.add(added) } }
    try simulation.call { await $0.shutdown() }
  }

  @Test func `A file that has not changed costs one request, and a new version replaces it`()
    async throws
  {
    try await DownloadFixture.with([.init("/f", length: 300_000)]) { fixture in
      let clock = ManualClock(wallStart: 1_900_000_000)
      let (manager, end) = try fixture.manager(clock: clock)
      var request = TransferRequest(.download(try fixture.request("/f") { $0.connections = 1 }))
      request.repetition = .every(.seconds(3600))
      let events = manager.events()
      var iterator = events.makeAsyncIterator()
      func run() async throws -> TransferResult {
        while let event = await iterator.next() {
          if case .finished(let result) = event.kind { return result }
        }
        throw CancellationError()
      }
      func due(_ transfer: Transfer) async throws {
        try await until { await transfer.waitReason?.code == "start-time" }
        clock.advance(by: .seconds(3600))
      }
      let transfer = try await manager.add(request)
      let first = try await run()
      #expect(first.fetched == 300_000)
      let path = try #require(first.path)
      let before = fixture.server.requests.count
      try await due(transfer)
      let second = try await run()
      #expect(second.state == .completed && second.fetched == 0 && second.path == path)
      #expect(fixture.server.requests.count == before + 1)
      #expect(fixture.server.replaceContent("/f", seed: 2))
      try await due(transfer)
      let third = try await run()
      #expect(third.state == .completed && third.fetched == 300_000 && third.path == path)
      let names = try FileManager.default.contentsOfDirectory(atPath: fixture.directory)
      #expect(names == ["f"], "no NAME (1)")
      await end()
    }
  }
}
