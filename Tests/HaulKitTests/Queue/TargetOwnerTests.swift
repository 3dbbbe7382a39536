import HaulCore
import HaulKit
import HaulTesting
import Testing

/// A target has one owner, until that one ends; with the limit at 1.
@Suite(.timeLimit(.minutes(10))) struct TargetOwnerTests {
  /// A download of `b` to the file of `a`.
  private func intruder(_ queue: QueueFixture) throws -> TransferRequest {
    try queue.request("b") { $0.destination = .file(queue.base.path("./a")) }
  }

  @Test(arguments: [TransferState.running, .queued, .paused])
  func `A target owned by an unfinished transfer is refused on addition`(
    state: TransferState
  ) async throws {
    try await QueueFixture.with([.held("a"), .plain("b")]) { queue in
      if state == .queued { await queue.manager.suspend() }
      let a = try await queue.add("a")[0]
      if state != .queued { try await queue.hold(a) }
      if state == .paused { try await a.pause() }
      for request in [try intruder(queue), try queue.request("a")] {
        let error = await refusal {
          try await queue.manager.add([try queue.request("b"), request])
        }
        #expect(error?.code == .inUse)
        #expect(error?.message.contains("\(a.id)") == true, "\(error?.message ?? "")")
      }
      #expect(await queue.states == [state], "none of the call is added")
      await queue.manager.unsuspend()
      try await a.resume()
      if state == .queued { try await queue.hold(a) }
      queue.release(a)
      let result = try await a.result
      #expect(state != .paused || result.reused > 0)
      try queue.expectWhole(a)
    }
  }

  @Test func `Two transfers of one call cannot have the same target`() async throws {
    try await QueueFixture.with([.plain("a"), .plain("b")]) { queue in
      let error = await refusal {
        try await queue.manager.add([try queue.request("a"), try intruder(queue)])
      }
      #expect(error?.code == .inUse)
      #expect(await queue.states.isEmpty)
    }
  }

  @Test func `A target keeps its owner after a restart`() async throws {
    let store = MemoryStore()
    try await DownloadFixture.with([.held("a"), .plain("b")]) { fixture in
      _ = try await fixture.queue(store: store) { queue in
        let a = try await queue.add("a")[0]
        try await queue.hold(a)
        try await a.pause()
      }
      _ = try await fixture.queue(store: store) { queue in
        let a = try #require(try await queue.manager.transfers().first)
        #expect(await refusal { _ = try await queue.manager.add(intruder(queue)) }?.code == .inUse)
        queue.release(a)
        try await a.resume()
        #expect(try await a.result.reused > 0)
        try queue.expectWhole(a)
      }
    }
  }

  @Test func `A transfer cannot be changed to a target owned by another`() async throws {
    try await QueueFixture.with([.plain("a"), .plain("b")]) { queue in
      await queue.manager.suspend()
      let added = try await queue.add("a", "b")
      let path = queue.base.path("a")
      let error = await refusal {
        try await added[1].set { $0.download?.destination = .file(path) }
      }
      #expect(error?.code == .inUse)
      try await added[0].cancel()
      try await added[1].set { $0.download?.destination = .file(path) }
      #expect(await refusal { try await added[0].retry() }?.refusal == .targetIsTaken)
      #expect(await refusal { _ = try await queue.manager.add(queue.request("a")) }?.code == .inUse)
      // Its own target is free now.
      try await queue.manager.add(queue.request("b"))
    }
  }

  @Test func `An ended transfer cannot retry to a taken target, and deletes none of its files`()
    async throws
  {
    try await QueueFixture.with([.held("b")]) { queue in
      let a = try await queue.add("a")[0]
      #expect(await code(a) == .notFound)
      let b = try await queue.manager.add(try intruder(queue))
      try await queue.hold(b)
      try await b.pause()
      #expect(await refusal { try await a.retry() }?.refusal == .targetIsTaken)
      #expect(await refusal { try await a.restart() }?.refusal == .targetIsTaken)
      try await a.cancel()
      try await a.remove()
      queue.release(b)
      try await b.resume()
      let result = try await b.result
      #expect(result.reused > 0, "the other transfer does not delete its bytes")
      #expect(try queue.base.isWhole("a", seed: .of("b"), length: QueueFixture.length))
    }
  }

  @Test func `An ended transfer deletes no files of the new owner, even after a restart`()
    async throws
  {
    let store = MemoryStore()
    try await DownloadFixture.with([.held("b")]) { fixture in
      _ = try await fixture.queue(store: store) { queue in
        let a = try await queue.add("a")[0]
        #expect(await code(a) == .notFound)
        let b = try await queue.manager.add(try intruder(queue))
        try await queue.hold(b)
        try await b.pause()
      }
      _ = try await fixture.queue(store: store) { queue in
        let added = try await queue.manager.transfers()
        try await added[0].cancel()
        try await added[0].remove()
        queue.release(added[1])
        try await added[1].resume()
        #expect(try await added[1].result.reused > 0)
      }
    }
  }

  @Test func `Two transfers of one address in one directory keep their own bytes`() async throws {
    let names = ["f", "f (1)"].flatMap { ["\($0).haul.journal", "\($0).haul.part"] }.sorted()
    try await QueueFixture.with([.held("f")]) { queue in
      let request = try queue.request("f") { $0.destination = .directory(queue.base.directory) }
      let added = try await queue.manager.add([request, request])
      for transfer in added {
        try await queue.log.wait { $0.bytes(of: transfer).contains { $0 > 0 } }
        try await transfer.pause()
      }
      #expect(try queue.base.names() == names)
      try await added[1].cancel()
      #expect(try queue.base.names() == ["f.haul.journal", "f.haul.part"])
      queue.release(added[0])
      try await added[0].resume()
      #expect(try await added[0].result.reused > 0)
      #expect(try queue.base.names() == ["f"])
    }
  }

  @Test func `A transfer that is added while another is paused leaves that part file alone`()
    async throws
  {
    try await QueueFixture.with([.held("f")]) { queue in
      let request = try queue.request("f") { $0.destination = .directory(queue.base.directory) }
      let first = try await queue.manager.add(request)
      try await queue.hold(first)
      try await first.pause()
      queue.release(first)
      let second = try await queue.manager.add(request)
      #expect(try await second.result.path == queue.base.path("f (1)"))
      #expect(try await second.result.reused == 0)
      try await first.resume()
      #expect(try await first.result.path == queue.base.path("f"))
      #expect(try await first.result.reused > 0)
    }
  }
}
