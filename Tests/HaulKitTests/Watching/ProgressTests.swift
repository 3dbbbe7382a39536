import HaulCore
import HaulKit
import HaulTesting
import Testing

/// The percentage of each file, and its end.
@Suite(.timeLimit(.minutes(10))) struct ProgressTests {
  /// Checks that 100 % was reported once, after all other progress and before the end, which was
  /// reported once and last.
  private func expectWholeOnce(
    _ kinds: [TransferEvent.Kind], length: Int64, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let progress = kinds.compactMap { kind -> TransferProgress? in
      if case .progress(let progress) = kind { progress } else { nil }
    }
    #expect(
      progress.count { $0.percent == 100 } == 1 && progress.last?.percent == 100, "\(kinds)",
      sourceLocation: sourceLocation)
    #expect(
      progress.last?.bytes == length && progress.last?.fraction == 1, "\(kinds)",
      sourceLocation: sourceLocation)
    #expect(
      progress.allSatisfy { ($0.percent ?? 0) >= 0 && ($0.fraction ?? 0) <= 1 }, "\(kinds)",
      sourceLocation: sourceLocation)
    let ends = kinds.indices.filter { if case .finished = kinds[$0] { true } else { false } }
    #expect(ends == [kinds.count - 1], "\(kinds)", sourceLocation: sourceLocation)
  }

  @Test(arguments: [0, 1, 100_000, QueueFixture.length])
  func `100 % is reported once, before the end, for any file size`(
    length: Int
  ) async throws {
    let resource = FaultScript.Resource("/a", seed: 1, length: Int64(length))
    var added: Transfer?
    let history = try await QueueFixture.with([resource]) { queue in
      let a = try await queue.add("a")[0]
      added = a
      _ = try await a.result
    }
    expectWholeOnce(history.kinds(of: try #require(added)), length: Int64(length))
  }

  @Test func `Percentages are reported as they rise, and 100 % also to a late reader`() async throws
  {
    var added: Transfer?
    var late: TransferEvents?
    let history = try await QueueFixture.with([.held("a")]) { queue in
      late = queue.manager.events()
      let a = try await queue.add("a")[0]
      added = a
      try await queue.hold(a)
      queue.release(a)
      _ = try await a.result
    }
    let a = try #require(added)
    let kinds = history.kinds(of: a)
    expectWholeOnce(kinds, length: Int64(QueueFixture.length))
    let percents = kinds.compactMap { kind -> Int? in
      if case .progress(let progress) = kind { progress.percent } else { nil }
    }
    #expect(percents == percents.sorted())
    #expect(percents.contains { (1...99).contains($0) }, "\(percents)")
    var reported: [TransferEvent.Kind] = []
    for await event in try #require(late) { reported.append(event.kind) }
    expectWholeOnce(reported, length: Int64(QueueFixture.length))
  }

  @Test func `An existing file is reported like a downloaded one`() async throws {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.plain("a")]) { queue in
      for _ in 1...2 {
        let request = try queue.request("a") { $0.destination = .directory(queue.base.directory) }
        let transfer = try await queue.manager.add(request)
        _ = try await transfer.result
        added.append(transfer)
      }
      #expect(queue.asked.count == 2)
    }
    for transfer in added {
      expectWholeOnce(history.kinds(of: transfer), length: Int64(QueueFixture.length))
    }
  }

  @Test func `After a resume, progress starts at the bytes on disk, of the whole length`()
    async throws
  {
    var added: Transfer?
    let history = try await QueueFixture.with([.held("a")]) { queue in
      let a = try await queue.add("a")[0]
      added = a
      try await queue.hold(a)
      try await a.pause()
      try await a.resume()
      try await queue.server.waitForRequests(2, path: "/a")
      try await queue.hold(a)
      queue.release(a)
      _ = try await a.result
    }
    let kinds = history.kinds(of: try #require(added))
    let resumed = try #require(kinds.firstIndex(of: .resumed(by: .user)))
    let before = kinds[..<resumed].compactMap(\.progress)
    let after = kinds[resumed...].compactMap(\.progress)
    let (last, first) = (try #require(before.last), try #require(after.first))
    #expect(first.bytes >= last.bytes && first.bytes > 0)
    #expect(after.allSatisfy { $0.total == Int64(QueueFixture.length) })
    expectWholeOnce(kinds, length: Int64(QueueFixture.length))
  }

  @Test func `An unknown length has no percentage until the file is complete`() async throws {
    let resource = FaultScript.Resource.plain("a").with {
      $0.faults = [
        Fault(.ignoreRange), Fault(.chunked()),
        Fault(.stall(after: Int64(QueueFixture.stallOffset))),
      ]
    }
    var added: Transfer?
    let history = try await QueueFixture.with([resource]) { queue in
      let a = try await queue.add("a")[0]
      added = a
      try await queue.hold(a)
      queue.server.release("/a")
      _ = try await a.result
    }
    let kinds = history.kinds(of: try #require(added))
    let progress = kinds.compactMap(\.progress)
    #expect(progress.count > 1)
    #expect(progress.dropLast().allSatisfy { $0.percent == nil && $0.secondsLeft == nil })
    expectWholeOnce(kinds, length: Int64(QueueFixture.length))
  }

  @Test func `A failed or cancelled transfer never reports 100 %`() async throws {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.broken("a"), .held("b")]) { queue in
      added = try await queue.add("a", "b")
      _ = await code(added[0])
      try await queue.hold(added[1])
      try await added[1].cancel()
    }
    for transfer in added {
      #expect(history.kinds(of: transfer).compactMap(\.progress).allSatisfy { $0.percent != 100 })
    }
  }

  @Test func `A step's progress after its end is not reported, and 100 % is reported once`()
    async throws
  {
    let leak = Leak()
    try await StepFixture.with { fixture in
      fixture.manager.register(step: "tell") { context in
        context.progress(1, of: 3)
        context.progress(3, of: 3)
        context.progress(3, of: 3)
        await leak.keep(context)
      }
      let events = fixture.manager.events()
      let step = try await fixture.manager.add(.step("tell"))
      _ = try await step.result
      await leak.context?.progress(2, of: 3)
      try await fixture.run(1)
      await fixture.manager.shutdown()
      var kinds: [TransferEvent.Kind] = []
      for await event in events where event.id == step.id { kinds.append(event.kind) }
      expectWholeOnce(kinds, length: 3)
    }
  }

  private actor Leak {
    var context: StepContext?
    func keep(_ context: StepContext) { self.context = context }
  }

  @MainActor
  @Test func `A reader on the main actor gets percentages and the end there`() async throws {
    try await QueueFixture.with([.held("a")]) { queue in
      let a = try await queue.add("a")[0]
      let label = Label()
      let reader = Task {
        for await event in a.events() { label.show(event.kind) }
      }
      try await queue.hold(a)
      queue.release(a)
      await reader.value
      #expect(label.percents == label.percents.sorted() && label.percents.last == 100)
      #expect(label.percents.count { $0 == 100 } == 1)
      #expect(label.ends == [.completed] && label.wasWholeBefore)
    }
  }

  @MainActor private final class Label {
    var percents: [Int] = []
    var ends: [TransferResult.State] = []
    var wasWholeBefore = false

    func show(_ kind: TransferEvent.Kind) {
      MainActor.assertIsolated()
      if let percent = kind.progress?.percent { percents.append(percent) }
      if case .finished(let result) = kind {
        ends.append(result.state)
        wasWholeBefore = percents.last == 100
      }
    }
  }

  @Test(
    arguments: [
      (0, 0, 100), (0, 1, 0), (1, 3, 33), (999_999, 1_000_000, 99), (1, 1, 100), (5, 4, 100),
      (Int64.max - 1, Int64.max, 99), (-1, 4, 0),
    ] as [(Int64, Int64, Int)])
  func `Percentages are rounded down, and 100 means all bytes`(
    bytes: Int64, total: Int64, percent: Int
  ) {
    let progress = TransferProgress(bytes: bytes, total: total, rate: 0, connections: 1)
    #expect(progress.percent == percent)
    #expect(TransferProgress(bytes: bytes, total: nil, rate: 1, connections: 1).fraction == nil)
  }
}

extension TransferEvent.Kind {
  var progress: TransferProgress? {
    if case .progress(let progress) = self { progress } else { nil }
  }
}
