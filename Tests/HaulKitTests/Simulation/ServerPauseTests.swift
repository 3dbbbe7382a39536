import HaulCore
import HaulKit
import HaulTesting
import Testing

/// `Retry-After` in simulated time: the time of every request is known.
@Suite struct ServerPauseTests {
  private static let years: Double = 10 * 365 * 86_400

  private func paused(_ seconds: Int) throws -> (SimulatedManager, Transfer) {
    let scene = SimulatedManager()
    scene.servers.habits.pauses = false
    let request = try scene.download("f") { $0.retry.maximumTime = .seconds(7200) }
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
