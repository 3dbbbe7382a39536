import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// "Start now" for a transfer that left its slot to wait for its next attempt, in simulated time.
@Suite struct StartDuringBackoffTests {
  private func start(_ simulation: SimulatedManager, _ transfer: Transfer, isForced: Bool = false) {
    simulation.send(isForced ? .force : .start, transfer)
    simulation.pass(.zero)
  }

  /// A transfer whose host refuses each connection after its first request.
  private func refused(_ simulation: SimulatedManager) throws -> Transfer {
    simulation.servers.behaviours.pauses = false
    simulation.servers.behaviours.unreachableHost = "h0"
    let request = try simulation.download("f") { $0.retry.retries = 8 }
    let transfer = try simulation.call { try await $0.add(request) }
    simulation.pass(.zero)
    #expect(simulation.asked == 1)
    #expect(try simulation.state(transfer) == .queued, "it holds no slot")
    return transfer
  }

  @Test(arguments: [true, false])
  func `A start makes the next attempt at once`(isForced: Bool) throws {
    let simulation = SimulatedManager()
    let transfer = try refused(simulation)
    simulation.servers.behaviours.unreachableHost = nil
    start(simulation, transfer, isForced: isForced)
    #expect(simulation.asked == 2)
    #expect(try simulation.state(transfer) == .completed)
    try simulation.end()
  }

  @Test func `A wait that was ended early does not shorten the next one`() throws {
    let simulation = SimulatedManager()
    simulation.servers.behaviours.pauses = false
    let request = try simulation.download("f") { $0.retry.retries = 8 }
    simulation.servers["f"]?.isUnavailable = true
    let transfer = try simulation.call { try await $0.add(request) }
    for asked in 2...5 {
      start(simulation, transfer)
      #expect(simulation.asked == asked)
    }
    // The last wait is the longest; earlier ones have timers too.
    let due = try #require(simulation.process.clock.wakeUps.last)
    simulation.pass(due - simulation.process.clock.now.sinceStart - .milliseconds(1))
    #expect(simulation.asked == 5)
    simulation.pass(.milliseconds(1))
    #expect(simulation.asked == 6)
    simulation.servers["f"]?.isUnavailable = false
    try simulation.runOut()
    #expect(try simulation.state(transfer) == .completed)
    try simulation.end()
  }

  @Test(arguments: [true, false])
  func `A started transfer goes first once the only slot is free, a forced one at once`(
    isForced: Bool
  ) throws {
    let simulation = SimulatedManager()
    let transfer = try refused(simulation)
    let requests = [simulation.step("a", turns: 5), try simulation.download("g")]
    let added = try simulation.call { try await $0.add(requests) }
    #expect(try simulation.state(added[0]) == .running)
    simulation.servers.behaviours.unreachableHost = nil
    start(simulation, transfer, isForced: isForced)
    #expect(simulation.asked == (isForced ? 2 : 1))
    try simulation.runOut()
    #expect(try simulation.state(transfer) == .completed)
    let asks = simulation.ledger.withLockedValue { $0.trace.filter { $0.contains("asks ") } }
    #expect(asks.map { $0.contains("g ") } == [false, false, true], "\(asks)")
    try simulation.end()
  }

  @Test(arguments: [false, true])
  func `A forced transfer of a suspended list retries until its end, also after a kill`(
    isKilled: Bool
  ) throws {
    var simulation = SimulatedManager()
    simulation.servers.behaviours.pauses = false
    try simulation.call { await $0.suspend() }
    let request = try simulation.download("f")
    simulation.servers["f"]?.isUnavailable = true
    let transfer = try simulation.call { try await $0.add(request) }
    start(simulation, transfer, isForced: true)
    #expect(simulation.asked == 1)
    simulation.servers["f"]?.isUnavailable = false
    if isKilled {
      simulation = simulation.kill()
      try simulation.call { await $0.suspend() }
      try simulation.call { try await $0.coordinator.open() }
    }
    try simulation.runOut()
    #expect(try simulation.call { await $0.summaries().map(\.state) } == [.completed])
    try simulation.end()
  }

  @Test func `A start does not shorten a pause that the server asked for`() throws {
    let simulation = SimulatedManager()
    simulation.servers.behaviours.pauses = false
    let request = try simulation.download("f")
    simulation.servers["f"]?.pause = 120
    let transfer = try simulation.call { try await $0.add(request) }
    simulation.pass(.zero)
    for isStarted in [false, true] {
      if isStarted { start(simulation, transfer) }
      let reason = try simulation.call { _ in await transfer.summary?.waitReason }
      #expect(reason?.code == "host-back-off", "a start is no advice")
    }
    simulation.pass(.milliseconds(119_999))
    #expect(simulation.asked == 1)
    simulation.pass(.milliseconds(1))
    #expect(simulation.asked == 2)
    #expect(try simulation.state(transfer) == .completed)
    try simulation.end()
  }
}
