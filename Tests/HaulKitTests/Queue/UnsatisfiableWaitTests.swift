import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// A wait for a transfer that cannot end by itself returns with the reason.
@Suite(.timeLimit(.minutes(10))) struct UnsatisfiableWaitTests {
  private func step(
    _ name: String, _ action: String = "pass", after: [String] = [], group: String? = nil
  ) -> TransferRequest {
    var request = TransferRequest.step(action, input: name)
    request.identifier = name
    request.group = group
    request.after = after
    return request
  }

  /// A manager with steps that pass, steps that fail until they are fixed, and steps that the gate
  /// holds.
  private func with(
    _ body: (TransferManager, StepGate, _ mend: @escaping @Sendable () -> Void) async throws -> Void
  ) async throws {
    let gate = StepGate()
    let isBroken = NIOLockedValueBox(true)
    try await QueueFixture.with([], active: 4) { queue in
      queue.manager.register(step: "pass") { _ in }
      queue.manager.register(step: "hold", gate.step)
      queue.manager.register(step: "fail") { _ in
        if isBroken.withLockedValue({ $0 }) { throw TransferError(.io, "broken") }
      }
      try await body(queue.manager, gate) { isBroken.withLockedValue { $0 = false } }
      gate.open()
    }
  }

  private func code(_ transfer: Transfer) async -> TransferError.Code? {
    do {
      _ = try await transfer.result
      return nil
    } catch { return error.code }
  }

  @Test func `Waiting for a group without members returns at once`() async throws {
    try await with { manager, gate, _ in
      let group = manager.group("g")
      #expect(try await group.completion().isEmpty)
      let added = try await manager.add([
        step("a", "hold", group: "g"), step("b", after: ["a"], group: "g"),
      ])
      await gate.waitForArrivals(1)
      async let outcomes = group.completion()
      // It is about to wait, or waits.
      _ = await manager.summaries()
      gate.open()
      _ = try await manager.remove(.ids(added.map(\.id).reversed()))
      #expect(try await outcomes.keys.allSatisfy { id in added.contains { $0.id == id } })
      #expect(try await group.completion().isEmpty)
    }
  }

  @Test func `Removing the last unfinished member ends the wait for the group`() async throws {
    try await with { manager, _, _ in
      let a = try await manager.add(step("a", group: "g"))
      _ = try await a.result
      await manager.suspend()
      let b = try await manager.add(step("b", group: "g"))
      async let outcomes = manager.group("g").completion()
      _ = await manager.summaries()
      try await b.remove()
      #expect(try await outcomes.mapValues(\.state) == [a.id: .completed])
    }
  }

  @Test
  func `A wait for a dependent of a failed transfer ends, directly or indirectly, early or late`()
    async throws
  {
    try await with { manager, gate, mend in
      // Both kinds of waiting begin before a decision, and after it.
      await manager.suspend()
      let added = try await manager.add([
        step("a", "fail", group: "g"), step("b", after: ["a"], group: "g"),
        step("c", after: ["b"], group: "g"), step("d", group: "g"),
      ])
      async let early = (code(added[1]), manager.group("g").completion())
      // It waits only for the second of the two.
      async let last = code(added[2])
      _ = await manager.summaries()
      await manager.unsuspend()
      let ((b, outcomes), c) = (try await early, await last)
      #expect([b, c] == [.dependencyFailed, .dependencyFailed])
      #expect(
        outcomes.mapValues(\.state) == [
          added[0].id: .failed, added[1].id: .failed, added[2].id: .failed,
          added[3].id: .completed,
        ])
      #expect(outcomes[added[2].id]?.error?.message.contains("\(added[0].id)") == true)
      #expect(await code(added[2]) == .dependencyFailed)
      #expect(await added[2].summary?.state == .queued)
      // After a retry of the failed one, its dependents can be awaited again.
      mend()
      try await added[0].retry()
      #expect(try await added[2].result.state == .completed)
      let all = try await manager.group("g").completion()
      #expect(all.values.allSatisfy { $0.state == .completed } && all.count == 4)
    }
  }

  @Test func `A wait for several dependencies ends when the last possible one has ended`()
    async throws
  {
    try await with { manager, gate, _ in
      let added = try await manager.add([
        step("slow", "hold"), step("bad", "fail"), step("behind", after: ["bad"]),
        step("both", after: ["slow", "behind"]),
      ])
      #expect(await code(added[2]) == .dependencyFailed)
      await gate.waitForArrivals(1)
      async let both = code(added[3])
      _ = await manager.summaries()
      gate.open()
      #expect(await both == .dependencyFailed)
    }
  }

  @Test func `A download in the caller's task fails if its dependency failed`() async throws {
    try await QueueFixture.with([.plain("f")], active: 4) { queue in
      let manager = queue.manager
      manager.register(step: "fail") { _ in throw TransferError(.io, "broken") }
      let bad = try await manager.add(step("bad", "fail"))
      var request = try queue.request("f")
      request.after = [bad.id]
      do throws(TransferError) {
        _ = try await manager.download(request)
        Issue.record("it was completed")
      } catch { #expect(error.code == .dependencyFailed) }
      #expect(queue.asked.isEmpty)
    }
  }

  @Test(arguments: ["pause", "cancel", "remove"])
  func `A step can command all transfers, including itself`(command: String) async throws {
    try await with { manager, _, _ in
      manager.register(step: "commands") { [weak manager] context in
        switch command {
        case "pause": _ = try await manager?.pause(.all)
        case "cancel": _ = try await manager?.cancel(.all)
        default: _ = try await manager?.remove(.all)
        }
        try context.checkpoint()
      }
      let own = try await manager.add(step("own", "commands"))
      await manager.waitUntilEmpty()
      let wanted: TransferState? =
        switch command {
        case "pause": .paused
        case "cancel": .cancelled
        default: nil
        }
      #expect(await own.summary?.state == wanted)
    }
  }

  @Test func `A step that waits for itself or its own group is refused`() async throws {
    try await with { manager, _, _ in
      let codes = NIOLockedValueBox<[TransferError.Code?]>([])
      manager.register(step: "waits") { [weak manager] context in
        guard let manager else { return }
        await manager.waitUntilEmpty()
        let own = try await manager.transfer(context.id)
        do { _ = try await own?.result } catch let error as TransferError {
          codes.withLockedValue { $0.append(error.code) }
        }
        do { _ = try await manager.group("g").completion() } catch let error as TransferError {
          codes.withLockedValue { $0.append(error.code) }
        }
        let others = try await manager.group("other").completion()
        #expect(others.isEmpty)
      }
      try await manager.add([step("own", "waits", group: "g"), step("another")])
      await manager.waitUntilEmpty()
      #expect(codes.withLockedValue { $0 } == [.dependencyFailed, .dependencyFailed])
      #expect(await manager.counts == [.completed: 2])
    }
  }
}
