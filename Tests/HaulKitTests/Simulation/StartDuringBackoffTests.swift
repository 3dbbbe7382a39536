import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// "Start now" for a transfer that left its slot to wait for its next attempt, in simulated time.
@Suite struct StartDuringBackoffTests {
  private func start(_ scene: SimulatedManager, _ transfer: Transfer, isForced: Bool = false) {
    scene.send(isForced ? .force : .start, transfer)
    scene.pass(.zero)
  }

  /// A transfer whose host refuses each connection after its first request.
  private func refused(_ scene: SimulatedManager) throws -> Transfer {
    scene.servers.behaviours.pauses = false
    scene.servers.behaviours.unreachableHost = "h0"
    let request = try scene.download("f") { $0.retry.retries = 8 }
    let transfer = try scene.call { try await $0.add(request) }
    scene.pass(.zero)
    #expect(scene.asked == 1)
    #expect(try scene.state(transfer) == .queued, "it holds no slot")
    return transfer
  }

  @Test(arguments: [true, false])
  func `A start makes the next attempt at once`(isForced: Bool) throws {
    let scene = SimulatedManager()
    let transfer = try refused(scene)
    scene.servers.behaviours.unreachableHost = nil
    start(scene, transfer, isForced: isForced)
    #expect(scene.asked == 2)
    #expect(try scene.state(transfer) == .completed)
    try scene.end()
  }

  @Test func `A wait that was ended early does not shorten the next one`() throws {
    let scene = SimulatedManager()
    scene.servers.behaviours.pauses = false
    let request = try scene.download("f") { $0.retry.retries = 8 }
    scene.servers["f"]?.isUnavailable = true
    let transfer = try scene.call { try await $0.add(request) }
    for asked in 2...5 {
      start(scene, transfer)
      #expect(scene.asked == asked)
    }
    // The last wait is the longest; earlier ones have timers too.
    let due = try #require(scene.process.clock.wakeUps.last)
    scene.pass(due - scene.process.clock.now.sinceStart - .milliseconds(1))
    #expect(scene.asked == 5)
    scene.pass(.milliseconds(1))
    #expect(scene.asked == 6)
    scene.servers["f"]?.isUnavailable = false
    try scene.runOut()
    #expect(try scene.state(transfer) == .completed)
    try scene.end()
  }

  @Test(arguments: [true, false])
  func `A started transfer goes first once the only slot is free, a forced one at once`(
    isForced: Bool
  ) throws {
    let scene = SimulatedManager()
    let transfer = try refused(scene)
    let requests = [scene.step("a", turns: 5), try scene.download("g")]
    let added = try scene.call { try await $0.add(requests) }
    #expect(try scene.state(added[0]) == .running)
    scene.servers.behaviours.unreachableHost = nil
    start(scene, transfer, isForced: isForced)
    #expect(scene.asked == (isForced ? 2 : 1))
    try scene.runOut()
    #expect(try scene.state(transfer) == .completed)
    let asks = scene.ledger.withLockedValue { $0.trace.filter { $0.contains("asks ") } }
    #expect(asks.map { $0.contains("g ") } == [false, false, true], "\(asks)")
    try scene.end()
  }

  @Test(arguments: [false, true])
  func `A forced transfer of a suspended list retries until its end, also after a kill`(
    isKilled: Bool
  ) throws {
    var scene = SimulatedManager()
    scene.servers.behaviours.pauses = false
    try scene.call { await $0.suspend() }
    let request = try scene.download("f")
    scene.servers["f"]?.isUnavailable = true
    let transfer = try scene.call { try await $0.add(request) }
    start(scene, transfer, isForced: true)
    #expect(scene.asked == 1)
    scene.servers["f"]?.isUnavailable = false
    if isKilled {
      scene = scene.kill()
      try scene.call { await $0.suspend() }
      try scene.call { try await $0.open() }
    }
    try scene.runOut()
    #expect(try scene.call { await $0.summaries().map(\.state) } == [.completed])
    try scene.end()
  }

  @Test func `A start does not shorten a pause that the server asked for`() throws {
    let scene = SimulatedManager()
    scene.servers.behaviours.pauses = false
    let request = try scene.download("f")
    scene.servers["f"]?.pause = 120
    let transfer = try scene.call { try await $0.add(request) }
    scene.pass(.zero)
    for isStarted in [false, true] {
      if isStarted { start(scene, transfer) }
      let reason = try scene.call { _ in await transfer.summary?.waitReason }
      #expect(reason?.code == "host-back-off", "a start is no advice")
    }
    scene.pass(.milliseconds(119_999))
    #expect(scene.asked == 1)
    scene.pass(.milliseconds(1))
    #expect(scene.asked == 2)
    #expect(try scene.state(transfer) == .completed)
    try scene.end()
  }
}
