import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Numbers that spin until a button stops them, with a clock that only the test moves.
@Suite(.timeLimit(.minutes(10))) struct SlotMachineTests {
  private static let beat: Duration = .milliseconds(50)

  /// A step that reports the next digit at each beat.
  private static func reel(_ clock: ManualClock) -> StepClosure {
    { context in
      var value = Int64(0)
      while true {
        try context.checkpoint()
        value = (value + 1) % 10
        context.progress(value)
        try await clock.wait(Self.beat)
      }
    }
  }

  /// Runs `body` with a manager, and cancels its reels afterwards: a shutdown would wait for their
  /// next beat.
  private func with(
    _ clock: ManualClock, _ body: (TransferManager) async throws -> Void
  ) async throws {
    try await StepFixture.with(active: 3, clock: clock) { fixture in
      do {
        try await body(fixture.manager)
      } catch {
        _ = try await fixture.manager.cancel(.all)
        throw error
      }
      _ = try await fixture.manager.cancel(.all)
    }
  }

  /// Performs a command while time passes: a reel stops at its next beat.
  @discardableResult
  private func whileTimePasses<Value: Sendable>(
    by clock: ManualClock, _ command: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let hasReturned = NIOLockedValueBox(false)
    let task = Task {
      defer { hasReturned.withLockedValue { $0 = true } }
      return try await command()
    }
    try await until {
      clock.advance(by: Self.beat)
      return hasReturned.withLockedValue { $0 }
    }
    return try await task.value
  }

  /// What a user sees, and when it arrived.
  @MainActor private final class Label {
    private(set) var values: [Int64] = []
    private(set) var times: [Duration] = []
    private(set) var isPaused = false

    func show(_ kind: TransferEvent.Kind, at time: Duration) {
      MainActor.assertIsolated()
      switch kind {
      case .progress(let progress):
        values.append(progress.bytes)
        times.append(time)
      case .paused: isPaused = true
      default: break
      }
    }
  }

  @MainActor
  @Test func `A step reports progress every 50 ms on the main actor, and none while paused`()
    async throws
  {
    let clock = ManualClock()
    try await with(clock) { manager in
      manager.register(step: "reel", Self.reel(clock))
      let label = Label()
      let events = manager.events()
      // Ends with the manager.
      Task {
        for await event in events { label.show(event.kind, at: clock.now.sinceStart) }
      }
      let reel = try await manager.add(.step("reel"))
      for turn in 1...25 {
        try await until { label.values.count == turn && clock.sleeperCount == 1 }
        clock.advance(by: .milliseconds(49))
        #expect(clock.sleeperCount == 1, "it does not wait for the next beat")
        clock.advance(by: .milliseconds(1))
      }
      try await until { label.values.count == 26 }
      #expect(label.values == (1...26).map { Int64($0 % 10) })
      #expect(label.times == (0..<26).map { Self.beat * $0 })

      try await whileTimePasses(by: clock) { try await reel.pause() }
      // Earlier reports are shown by then.
      try await until { label.isPaused }
      let stopped = label.values
      #expect(clock.sleeperCount == 0, "nothing of it still runs")
      clock.advance(by: .seconds(1))
      try await reel.resume()
      try await until { label.values.count > stopped.count }
      // It begins again, and no value came in between.
      #expect(label.values == stopped + [1])
    }
  }

  /// The number of runs of each reel.
  private final class Tally: Sendable {
    private struct State {
      var running: [TransferID: Int] = [:]
      var most = 0
    }

    private let state = NIOLockedValueBox(State())

    var running: Int { state.withLockedValue { $0.running.values.reduce(0, +) } }
    /// The most runs of one reel at the same time.
    var most: Int { state.withLockedValue { $0.most } }

    func enters(_ id: TransferID) {
      state.withLockedValue { state in
        state.running[id, default: 0] += 1
        state.most = max(state.most, state.running[id] ?? 0)
      }
    }

    func leaves(_ id: TransferID) { state.withLockedValue { $0.running[id, default: 0] -= 1 } }
  }

  @Test func `Rapid pauses and resumes of three steps never run one twice, and never block`()
    async throws
  {
    let (clock, tally) = (ManualClock(), Tally())
    try await with(clock) { manager in
      manager.register(step: "reel") { context in
        tally.enters(context.id)
        defer { tally.leaves(context.id) }
        try await Self.reel(clock)(context)
      }
      let requests = (0..<3).map { _ in
        var request = TransferRequest.step("reel")
        request.group = "reels"
        return request
      }
      try await manager.add(requests)
      for press in 1...40 {
        // The next press comes before those that the last one started have done anything.
        if press.isMultiple(of: 2) {
          _ = try await manager.resume(.group("reels"))
          #expect(await manager.counts == [.running: 3])
        } else {
          try await whileTimePasses(by: clock) { try await manager.pause(.group("reels")) }
          #expect(await manager.counts == [.paused: 3])
          #expect(tally.running == 0)
        }
      }
      try await until { tally.running == 3 }
      #expect(tally.most == 1)
      _ = try await manager.cancel(.all)
      #expect(tally.running == 0)
    }
  }
}
