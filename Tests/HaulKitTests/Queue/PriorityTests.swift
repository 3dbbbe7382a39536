import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Priorities with one slot.
@Suite(.timeLimit(.minutes(10))) struct PriorityTests {
  private static let each = 12

  @Test func `A higher priority starts more often, and a lower one is never starved`() async throws
  {
    let names = ["high", "low"].flatMap { kind in (0..<Self.each).map { "\(kind)-\($0)" } }
    try await QueueFixture.with(names.map { .plain($0) }) { queue in
      await queue.manager.suspend()
      // The low ones are added first.
      for (kind, priority) in [("low", TransferRequest.Priority.utility), ("high", .userInitiated)]
      {
        let requests = try (0..<Self.each).map { number in
          var request = try queue.request("\(kind)-\(number)")
          request.priority = priority
          return request
        }
        try await queue.manager.add(requests)
      }
      await queue.manager.unsuspend()
      await queue.manager.waitUntilEmpty()
      let asked = queue.asked
      #expect(asked.count == 2 * Self.each)
      // Weights 8 and 2.
      let high = asked.prefix(10).count { $0.hasPrefix("high") }
      #expect((7...9).contains(high), "\(asked)")
      // Inside one priority, in order of arrival.
      for kind in ["high", "low"] {
        let own = asked.filter { $0.hasPrefix(kind) }
        #expect(own == (0..<Self.each).map { "\(kind)-\($0)" })
      }
    }
  }

  @Test func `A changed priority takes effect at once, even for a queued transfer`() async throws {
    let others = (1...8).map { "\($0)" }
    try await QueueFixture.with([.held("a"), .plain("last")] + others.map { .plain($0) }) { queue in
      let a = try await queue.add("a")[0]
      for name in others { _ = try await queue.add(name) }
      let last = try await queue.add("last")[0]
      try await queue.hold(a)
      _ = try await queue.manager.setPriority(.userInteractive, of: .ids([last.id]))
      #expect(await last.summary?.priority == .userInteractive)
      queue.release(a)
      await queue.manager.waitUntilEmpty()
      // Before seven of the eight that were added before it.
      #expect(queue.asked.prefix(3).contains("last"), "\(queue.asked)")
    }
  }
}
