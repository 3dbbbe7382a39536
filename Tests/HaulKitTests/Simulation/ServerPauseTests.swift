import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// `Retry-After` in simulated time: the time of every request is known.
@Suite struct ServerPauseTests {
  private static let years: Double = 10 * 365 * 86_400

  private func paused(_ seconds: Int) throws -> (SimulatedManager, Transfer) {
    let simulation = SimulatedManager()
    simulation.servers.behaviours.pauses = false
    let request = try simulation.download("f") {
      $0.retry.maximumTimeWithoutProgress = .seconds(7200)
    }
    simulation.servers["f"]?.pause = seconds
    let transfer = try simulation.call { try await $0.add(request) }
    simulation.pass(.zero)
    #expect(simulation.asked == 1)
    return (simulation, transfer)
  }

  @Test(arguments: [1, 120, 3600])
  func `No request is sent before Retry-After has passed, and one is sent after it`(
    seconds: Int
  ) throws {
    let (simulation, transfer) = try paused(seconds)
    simulation.pass(.milliseconds(1000 * seconds - 1))
    #expect(simulation.asked == 1)
    #expect(try simulation.state(transfer) != .completed)
    // A part of the wait is random, so that not all return at once.
    simulation.pass(.seconds(seconds) + .seconds(60))
    #expect(simulation.asked == 2)
    #expect(try simulation.state(transfer) == .completed)
    try simulation.end()
  }

  @Test func `A server that says 0 while it is busy gets no burst of requests`() throws {
    let (simulation, transfer) = try paused(0)
    simulation.pass(.seconds(3))
    #expect(try simulation.state(transfer) != .failed)
    simulation.servers["f"]?.pause = nil
    try simulation.runOut()
    #expect(try simulation.state(transfer) == .completed)
    try simulation.end()
  }

  /// Opens the list after a kill, three seconds after the server asked for a pause of eight.
  private func killed(
    starting started: [Int] = [], isForced: Bool = false,
    then command: TransferMachine.Command? = nil
  ) throws -> SimulatedManager {
    let (simulation, first) = try paused(8)
    let request = try simulation.download("g")
    let transfers = [first, try simulation.call { try await $0.add(request) }]
    for index in started { simulation.send(isForced ? .force : .start, transfers[index]) }
    if let command { simulation.send(command, first) }
    simulation.pass(.seconds(3))
    let next = simulation.kill()
    try next.call { try await $0.coordinator.open() }
    return next
  }

  @Test(arguments: [[], [0], [1], [0, 1]], [false, true])
  func `After a kill, a pause holds for all transfers of the host, also for started ones`(
    started: [Int], isForced: Bool
  ) throws {
    let simulation = try killed(starting: started, isForced: isForced)
    simulation.pass(.milliseconds(4999))
    #expect(simulation.asked == 0)
    let reasons = try simulation.call { await $0.summaries().compactMap(\.waitReason?.code) }
    #expect(reasons == ["host-back-off", "host-back-off"])
    simulation.pass(.milliseconds(1))
    #expect(simulation.asked > 0)
    try simulation.runOut()
    #expect(simulation.asked == 2)
    try simulation.end()
  }

  @Test(arguments: [TransferMachine.Command.pause, .cancel, .requeue])
  func `After a kill, a pause holds although the transfer that it was stored with was stopped`(
    command: TransferMachine.Command
  ) throws {
    let simulation = try killed(then: command)
    simulation.pass(.milliseconds(4999))
    #expect(simulation.asked == 0)
    simulation.pass(.seconds(1))
    #expect(simulation.asked > 0)
    try simulation.runOut()
    try simulation.end()
  }

  @Test
  func `A wall clock that was set back while nothing ran prolongs a pause by an hour at most`()
    throws
  {
    let (simulation, _) = try paused(8)
    let next = simulation.kill()
    next.process.clock.adjustWallClock(by: -Self.years)
    next.ledger.withLockedValue { $0.storedPauses = [:] }
    try next.call { try await $0.coordinator.open() }
    next.pass(.seconds(3600))
    #expect(next.asked == 1)
    try next.runOut()
    #expect(try next.call { await $0.summaries().map(\.state) } == [.completed])
    try next.end()
  }

  @Test(arguments: [1.0, -1.0])
  func `A wall clock jump of ten years neither ends nor prolongs the wait`(
    direction: Double
  ) throws {
    let (simulation, transfer) = try paused(120)
    simulation.process.clock.adjustWallClock(by: direction * Self.years)
    simulation.pass(.milliseconds(119_999))
    #expect(simulation.asked == 1)
    simulation.process.clock.adjustWallClock(by: -2 * direction * Self.years)
    simulation.pass(.seconds(120))
    #expect(simulation.asked == 2)
    #expect(try simulation.state(transfer) == .completed)
    try simulation.end()
  }
}
