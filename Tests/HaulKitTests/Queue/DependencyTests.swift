import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Dependencies between transfers.
@Suite(.timeLimit(.minutes(10))) struct DependencyTests {
  private func step(
    _ name: String, after: [String], group: String? = nil,
    policy: TransferRequest.DependencyPolicy = .block
  ) -> TransferRequest {
    var request = TransferRequest.step(name, input: name)
    request.identifier = name
    request.group = group
    request.after = after
    request.whenDependencyFails = policy
    return request
  }

  private func download(
    _ queue: QueueFixture, _ name: String, group: String? = nil
  ) throws -> TransferRequest {
    var request = try queue.request(name)
    request.identifier = name
    request.group = group
    return request
  }

  @Test func `A download, an unpack step and a main-actor step run in order across two groups`()
    async throws
  {
    let done = NIOLockedValueBox<[String]>([])
    try await QueueFixture.with([.held("app")], active: 4) { queue in
      let manager = queue.manager
      manager.register(step: "unpack") { context in
        done.withLockedValue { $0.append("unpack") }
        context.progress(1, of: 1)
      }
      manager.register(step: "tell") { @MainActor _ in
        MainActor.assertIsolated()
        done.withLockedValue { $0.append("tell") }
      }
      // In the wrong order on purpose: identifiers are looked up for the whole call.
      let added = try await manager.add([
        step("tell", after: ["unpack"], group: "screen"),
        step("unpack", after: ["app"], group: "work"),
        try download(queue, "app", group: "work"),
      ])
      try await queue.hold(added[2])
      #expect(await queue.states == [.queued, .queued, .running])
      #expect(done.withLockedValue { $0 }.isEmpty)
      queue.release(added[2])
      let screen = try await manager.group("screen").completion()
      #expect(screen.values.map(\.state) == [.completed])
      #expect(done.withLockedValue { $0 } == ["unpack", "tell"])
      #expect(await queue.states == [.completed, .completed, .completed])
      try queue.expectWhole(added[2])
    }
  }

  @Test func `A transfer that waits for a dependency holds no slot`() async throws {
    let gate = StepGate()
    gate.open()
    try await QueueFixture.with([.plain("app"), .plain("z")]) { queue in
      for name in ["unpack", "tell"] { queue.manager.register(step: name, gate.step) }
      try await queue.manager.add([
        step("tell", after: ["unpack"]), step("unpack", after: ["app"]),
        try download(queue, "app"),
      ])
      await queue.manager.waitUntilEmpty()
      #expect(gate.came == ["unpack", "tell"])
      #expect(await queue.states == [.completed, .completed, .completed])
    }
  }

  @Test(arguments: [
    ["a after a"], ["a after b", "b after a"],
    ["a after b", "b after c", "c after a", "d after a"],
  ])
  func `A dependency cycle is reported, and the whole call is refused`(edges: [String]) async throws
  {
    let history = try await QueueFixture.with([]) { queue in
      let requests = edges.map { edge in
        let names = edge.split(separator: " ").map(String.init)
        return step(names[0], after: [names[2]])
      }
      let error = await #expect(throws: TransferError.self) {
        try await queue.manager.add([step("good", after: [])] + requests)
      }
      #expect(error?.code == .dependencyFailed)
      for name in edges.map({ $0.prefix(1) }) where name != "d" {
        #expect(error?.message.contains("\(name) after ") == true, "\(String(describing: error))")
      }
      #expect(error?.message.contains("d after") == false)
      #expect(await queue.manager.counts.isEmpty)
      // Nothing of it remains, and the names are free.
      await queue.manager.suspend()
      let again = try await queue.manager.add(step("a", after: []))
      #expect(await again.summary?.state == .queued)
    }
    #expect(history.events.compactMap(\.number) == [1])
  }

  @Test func `An unknown dependency is refused`() async throws {
    try await QueueFixture.with([]) { queue in
      let error = await #expect(throws: TransferError.self) {
        try await queue.manager.add([step("a", after: []), step("b", after: ["nobody"])])
      }
      #expect(error?.code == .dependencyFailed && error?.message.contains("nobody") == true)
      #expect(await queue.manager.counts.isEmpty)
    }
  }

  @Test(arguments: ["failed", "cancelled", "removed"])
  func `A dependency that does not complete blocks, skips or runs its dependents by policy`(
    how: String
  )
    async throws
  {
    let gate = StepGate()
    gate.open()
    try await QueueFixture.with([.held("app")]) { queue in
      let manager = queue.manager
      for name in ["block", "skip", "run"] { manager.register(step: name, gate.step) }
      let app = try await manager.add(try download(queue, "app"))
      try await queue.hold(app)
      let added = try await manager.add(
        [("block", .block), ("skip", .skip), ("run", .run)].map {
          step($0, after: ["app"], policy: $1)
        })
      switch how {
      case "failed":
        queue.server.dropConnections()
        #expect(await code(app) == .connectionLost)
      case "cancelled": try await app.cancel(keepingBytes: true)
      default: try await app.remove()
      }
      #expect(await code(added[1]) == .dependencyFailed)
      #expect(await code(added[2]) == nil)
      await manager.waitUntilEmpty()
      #expect(await added[0].summary?.state == .queued)
      #expect(gate.came == ["run"])
      guard how != "removed" else { return }
      queue.server.setFaults("/app", [])
      try await app.retry()
      #expect(await code(added[0]) == nil)
      #expect(gate.came == ["run", "block"])
    }
  }

  @Test func `A failed member stops the rest of its chain, and a retry continues it`() async throws
  {
    let gate = StepGate()
    gate.open()
    try await QueueFixture.with([.broken("app")]) { queue in
      let manager = queue.manager
      for name in ["unpack", "tell"] { manager.register(step: name, gate.step) }
      let added = try await manager.add([
        try download(queue, "app"), step("unpack", after: ["app"]),
        step("tell", after: ["unpack"]),
      ])
      await manager.waitUntilEmpty()
      #expect(await queue.states == [.failed, .queued, .queued])
      queue.server.setFaults("/app", [])
      try await added[0].retry()
      #expect(await code(added[2]) == nil)
      #expect(gate.came == ["unpack", "tell"])
    }
  }

  @Test func `The wait for a dependency and its block are reported`() async throws {
    var added: [Transfer] = []
    let history = try await QueueFixture.with([.held("app")], active: 2) { queue in
      added = try await queue.manager.add([
        try download(queue, "app"), step("unpack", after: ["app"]),
      ])
      try await queue.hold(added[0])
      try await queue.log.wait { [unpack = added[1]] in !$0.reasons(of: unpack).isEmpty }
      try await added[0].cancel()
      try await queue.log.wait { [unpack = added[1]] in $0.reasons(of: unpack).count >= 2 }
      _ = try await queue.manager.cancel(.all)
    }
    let id = try #require(added.first?.id)
    let reasons = [false, true].map { WaitReason.dependency(id, isBlocked: $0) }
    #expect(history.reasons(of: added[1]) == reasons, "\(history)")
  }
}
