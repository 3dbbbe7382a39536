import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// `Retry-After` in simulated time: the time of every request is known.
@Suite struct ServerPauseTests {
  private static let years: Double = 10 * 365 * 86_400

  private func paused(_ seconds: Int) throws -> (SimulatedManager, Transfer) {
    let scene = SimulatedManager()
    scene.servers.behaviours.pauses = false
    let request = try scene.download("f") { $0.retry.maximumTimeWithoutProgress = .seconds(7200) }
    scene.servers["f"]?.pause = seconds
    let transfer = try scene.call { try await $0.add(request) }
    scene.pass(.zero)
    #expect(scene.asked == 1)
    return (scene, transfer)
  }

  @Test(arguments: [1, 120, 3600])
  func `No request is sent before Retry-After has passed, and one is sent after it`(
    seconds: Int
  ) throws {
    let (scene, transfer) = try paused(seconds)
    scene.pass(.milliseconds(1000 * seconds - 1))
    #expect(scene.asked == 1)
    #expect(try scene.state(transfer) != .completed)
    // A part of the wait is random, so that not all return at once.
    scene.pass(.seconds(seconds) + .seconds(60))
    #expect(scene.asked == 2)
    #expect(try scene.state(transfer) == .completed)
    try scene.end()
  }

  /// Opens the list after a kill, three seconds after the server asked for a pause of eight.
  private func killed(
    starting started: [Int] = [], isForced: Bool = false,
    then command: TransferMachine.Command? = nil
  ) throws -> SimulatedManager {
    let (scene, first) = try paused(8)
    let request = try scene.download("g")
    let transfers = [first, try scene.call { try await $0.add(request) }]
    for index in started { scene.send(isForced ? .force : .start, transfers[index]) }
    if let command { scene.send(command, first) }
    scene.pass(.seconds(3))
    let next = scene.kill()
    try next.call { try await $0.open() }
    return next
  }

  @Test(arguments: [[], [0], [1], [0, 1]], [false, true])
  func `After a kill, a pause holds for all transfers of the host, also for started ones`(
    started: [Int], isForced: Bool
  ) throws {
    let scene = try killed(starting: started, isForced: isForced)
    scene.pass(.milliseconds(4999))
    #expect(scene.asked == 0)
    let reasons = try scene.call { await $0.summaries().compactMap(\.waitReason?.code) }
    #expect(reasons == ["host-back-off", "host-back-off"])
    scene.pass(.milliseconds(1))
    #expect(scene.asked > 0)
    try scene.runOut()
    #expect(scene.asked == 2)
    try scene.end()
  }

  @Test(arguments: [TransferMachine.Command.pause, .cancel, .requeue])
  func `After a kill, a pause holds although the transfer that it was stored with was stopped`(
    command: TransferMachine.Command
  ) throws {
    let scene = try killed(then: command)
    scene.pass(.milliseconds(4999))
    #expect(scene.asked == 0)
    scene.pass(.seconds(1))
    #expect(scene.asked > 0)
    try scene.runOut()
    try scene.end()
  }

  @Test
  func `A wall clock that was set back while nothing ran prolongs a pause by an hour at most`()
    throws
  {
    let (scene, _) = try paused(8)
    let next = scene.kill()
    next.process.clock.adjustWallClock(by: -Self.years)
    next.ledger.withLockedValue { $0.storedPauses = [:] }
    try next.call { try await $0.open() }
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
    let (scene, transfer) = try paused(120)
    scene.process.clock.adjustWallClock(by: direction * Self.years)
    scene.pass(.milliseconds(119_999))
    #expect(scene.asked == 1)
    scene.process.clock.adjustWallClock(by: -2 * direction * Self.years)
    scene.pass(.seconds(120))
    #expect(scene.asked == 2)
    #expect(try scene.state(transfer) == .completed)
    try scene.end()
  }
}
