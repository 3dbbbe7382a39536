import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Subscribers that read later than they subscribed.
@Suite(.timeLimit(.minutes(10))) struct LateReaderTests {
  private func kinds(_ events: TransferEvents) async -> [TransferEvent.Kind] {
    var reported: [TransferEvent.Kind] = []
    for await event in events { reported.append(event.kind) }
    return reported
  }

  private func snapshots(_ kinds: [TransferEvent.Kind]) -> [TransferSnapshot] {
    kinds.compactMap { if case .snapshot(let snapshot) = $0 { snapshot } else { nil } }
  }

  /// Checks that 100 % was reported once, directly before the end.
  private func expectWholeBeforeEnd(
    _ kinds: [TransferEvent.Kind], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    guard case .finished(let result) = kinds.last else {
      Issue.record("\(kinds)", sourceLocation: sourceLocation)
      return
    }
    let progress = kinds.compactMap(\.progress)
    #expect(result.state == .completed, "\(kinds)", sourceLocation: sourceLocation)
    #expect(
      progress.count { $0.percent == 100 } == 1 && progress.last?.percent == 100, "\(kinds)",
      sourceLocation: sourceLocation)
  }

  @Test func `A subscriber that reads after the end gets everything since its call`() async throws {
    try await QueueFixture.with([.held("a")]) { queue in
      let a = try await queue.add("a")[0]
      try await queue.hold(a)
      let events = a.events()
      try await a.pause()
      queue.release(a)
      try await a.resume()
      _ = try await a.result
      let reported = await kinds(events)
      expectWholeBeforeEnd(reported)
      guard case .snapshot(let snapshot) = reported.first else { return }
      #expect(snapshot.state == .running && (snapshot.progress?.bytes ?? 0) > 0)
      #expect(snapshots(reported).count == 1)
      #expect(reported.contains(.paused(by: .user)) && reported.contains(.resumed(by: .user)))
    }
  }

  @Test func `A subscriber that reads after the shutdown gets everything since its call`()
    async throws
  {
    var late: TransferEvents?
    try await QueueFixture.with([.plain("a")]) { queue in
      await queue.manager.suspend()
      let a = try await queue.add("a")[0]
      late = a.events()
      await queue.manager.unsuspend()
      _ = try await a.result
    }
    let reported = await kinds(try #require(late))
    expectWholeBeforeEnd(reported)
    #expect(snapshots(reported).map(\.state) == [.queued])
  }

  @Test func `A subscriber gets 100 % also if it was reported before its call`() async throws {
    let gate = StepGate()
    try await StepFixture.with { fixture in
      fixture.manager.register(step: "tell") { context in
        context.progress(3, of: 3)
        try await gate.step(context)
      }
      let step = try await fixture.manager.add(.step("tell"))
      try await until { step.progress?.percent == 100 }
      let (early, late) = (step.events(), step.events())
      async let reported = kinds(early)
      gate.open()
      _ = try await step.result
      expectWholeBeforeEnd(await reported)
      expectWholeBeforeEnd(await kinds(late))
      #expect(await kinds(step.events()).count == 2)
    }
  }

  @Test func `A subscriber that missed the event of 100 % gets it after its new snapshot`()
    async throws
  {
    let gate = StepGate()
    try await StepFixture.with { fixture in
      fixture.manager.register(step: "tell") { context in
        context.progress(3, of: 3)
        try await gate.spin(times: 1)(context)
      }
      let step = try await fixture.manager.add(.step("tell"))
      let events = step.events()
      try await until { step.progress?.percent == 100 }
      await fixture.manager.suspend()
      for _ in 1...40 {
        try await step.pause()
        try await step.resume()
      }
      await fixture.manager.unsuspend()
      _ = try await step.result
      let reported = await kinds(events)
      expectWholeBeforeEnd(reported)
      #expect(snapshots(reported).count == 2)
    }
  }

  @Test func `A reset is the list at the call, and all later changes follow it`() async throws {
    try await StepFixture.with { fixture in
      try await fixture.run(3)
      let events = fixture.manager.events(after: nil)
      let added = try await fixture.run(2)
      let reported = await stateChanges(5, of: events)
      let snapshot = try #require(reported.first?.snapshot)
      #expect(snapshot.number == 6 && snapshot.transfers.count == 3)
      #expect(reported.dropFirst().map(\.number) == [7, 8, 9, 10])
      for transfer in added {
        #expect(
          reported.contains {
            guard case .transfer(let event) = $0, case .finished = event.kind else { return false }
            return event.id == transfer.id
          })
      }
    }
  }

  @Test(arguments: [nil, 0, 4])
  func `A subscriber by number gets progress since its call, also if it reads late`(
    number: Int?
  ) async throws {
    try await StepFixture.with { fixture in
      try await fixture.run(2)
      fixture.manager.register(step: "tell") { $0.progress(3, of: 3) }
      let events = fixture.manager.events(after: number)
      let step = try await fixture.manager.add(.step("tell"))
      _ = try await step.result
      await fixture.manager.shutdown()
      var kinds: [TransferEvent.Kind] = []
      for await case .transfer(let event) in events where event.id == step.id {
        kinds.append(event.kind)
      }
      expectWholeBeforeEnd(kinds)
    }
  }

  @Test func `A cancelled task gets no events`() async throws {
    try await StepFixture.with { fixture in
      let step = try await fixture.run(1)[0]
      let (own, all) = (step.events(), fixture.manager.events(after: nil))
      let reader = Task {
        try? await until { Task.isCancelled }
        var count = 0
        for await _ in own { count += 1 }
        for await _ in all { count += 1 }
        return count
      }
      reader.cancel()
      #expect(await reader.value == 0)
    }
  }
}
