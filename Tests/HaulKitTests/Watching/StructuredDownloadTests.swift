import HaulCore
import HaulKit
import HaulTesting
import Testing

/// `download`: a call that ends with its task.
@Suite(.timeLimit(.minutes(10))) struct StructuredDownloadTests {
  @MainActor
  @Test
  func `A download returns when the file is complete, and reports progress on the caller's actor`()
    async throws
  {
    try await QueueFixture.with([.held("a")]) { queue in
      var percents: [Int] = []
      // Progress that was not yet reported may be replaced by newer progress.
      let (isTold, tell) = AsyncStream.makeStream(of: Void.self)
      let release = Task {
        try await queue.server.waitForHeld("/a")
        for await _ in isTold { break }
        queue.server.setFaults("/a", [])
        queue.server.release("/a")
      }
      let result = try await queue.manager.download(try queue.request("a")) { progress in
        MainActor.assertIsolated()
        if let percent = progress.percent { percents.append(percent) }
        if progress.bytes > 0 { tell.yield() }
      }
      try await release.value
      #expect(result.state == .completed && result.path == queue.base.path("a"))
      #expect(percents == percents.sorted() && percents.count > 1)
      #expect(percents.count { $0 == 100 } == 1 && percents.last == 100)
    }
  }

  @Test(arguments: CancelBehavior.allCases)
  func `A cancelled task pauses, cancels or detaches its download before it throws`(
    behavior: CancelBehavior
  ) async throws {
    try await QueueFixture.with([.held("a")]) { queue in
      let request = try queue.request("a")
      let call = Task { try await queue.manager.download(request, onCancel: behavior) }
      try await queue.server.waitForHeld("/a")
      try await queue.log.wait { $0.events.contains { ($0.kind.progress?.bytes ?? 0) > 0 } }
      call.cancel()
      let error = await #expect(throws: TransferError.self) { try await call.value }
      let states = await queue.states
      let names = try queue.base.names()
      switch behavior {
      case .pause:
        #expect(error?.code == .interrupted && states == [.paused])
        #expect(names.contains("a.haul.part"))
      case .cancel:
        #expect(error?.code == .cancelled && states == [.cancelled])
        #expect(names.isEmpty)
      case .detach:
        #expect(error?.code == .interrupted && states == [.running])
      }
      queue.server.setFaults("/a", [])
      queue.server.release("/a")
      _ = try await queue.manager.resume(.all)
      await queue.manager.waitUntilEmpty()
      #expect(await queue.states == [behavior == .cancel ? .cancelled : .completed])
      #expect(queue.asked.count == (behavior == .pause ? 2 : 1))
    }
  }

  @Test func `A download in an already cancelled task adds nothing`() async throws {
    try await QueueFixture.with([.plain("a")]) { queue in
      let request = try queue.request("a")
      let call = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await queue.manager.download(request)
      }
      let error = await #expect(throws: TransferError.self) { try await call.value }
      #expect(error?.code == .cancelled)
      #expect(await queue.states.isEmpty && queue.asked.isEmpty)
    }
  }

  @Test func `A download throws its failure, or that another caller cancelled it`() async throws {
    try await QueueFixture.with([.broken("a"), .held("b")]) { queue in
      let failed = try queue.request("a")
      let error = await #expect(throws: TransferError.self) {
        try await queue.manager.download(failed)
      }
      #expect(error?.code == .connectionLost)
      let held = try queue.request("b")
      let call = Task { try await queue.manager.download(held) }
      try await queue.server.waitForHeld("/b")
      _ = try await queue.manager.cancel(.all)
      let other = await #expect(throws: TransferError.self) { try await call.value }
      #expect(other?.code == .cancelled)
    }
  }

  @Test func `A download waits while another caller has paused it, and ends with the manager`()
    async throws
  {
    try await DownloadFixture.with([.held("a"), .held("b")]) { fixture in
      var call: Task<TransferResult, any Error>?
      _ = try await fixture.queue(active: 2) { queue in
        let (a, b) = (try queue.request("a"), try queue.request("b"))
        let first = Task { try await queue.manager.download(a) }
        call = Task { try await queue.manager.download(b) }
        for path in ["/a", "/b"] { try await queue.server.waitForHeld(path) }
        _ = try await queue.manager.pause(.all)
        queue.server.setFaults("/a", [])
        _ = try await queue.manager.resume(.filter { $0.identifier == nil })
        #expect(try await first.value.state == .completed)
      }
      let error = await #expect(throws: TransferError.self) { try await call?.value }
      #expect(error?.code == .interrupted)
    }
  }

  @Test func `A download cancelled at its last byte is completed or paused, as reported`()
    async throws
  {
    for round in 1...10 {
      try await QueueFixture.with([.plain("a")]) { queue in
        let request = try queue.request("a")
        let call = Task {
          try await queue.manager.download(request) { progress in
            if progress.percent == 100 { withUnsafeCurrentTask { $0?.cancel() } }
          }
        }
        switch await call.result {
        case .success(let result):
          #expect(result.state == .completed, "round \(round)")
          #expect(await queue.states == [.completed])
        case .failure(let error):
          #expect((error as? TransferError)?.code == .interrupted, "round \(round)")
          #expect(await queue.states == [.paused])
        }
      }
    }
  }

  @Test func `In a task group, the first failed download pauses the others`() async throws {
    let names: [FaultScript.Resource] = [.held("a"), .held("b"), .broken("c")]
    try await QueueFixture.with(names, active: 3) { queue in
      let requests = try ["a", "b", "c"].map { try queue.request($0) }
      let error = await #expect(throws: TransferError.self) {
        try await withThrowingTaskGroup(of: TransferResult.self) { group in
          for request in requests.prefix(2) {
            group.addTask { try await queue.manager.download(request) }
          }
          for path in ["/a", "/b"] { try await queue.server.waitForHeld(path) }
          group.addTask { try await queue.manager.download(requests[2]) }
          for try await _ in group {}
        }
      }
      #expect(error?.code == .connectionLost)
      #expect(await queue.manager.counts == [.paused: 2, .failed: 1])
    }
  }
}
