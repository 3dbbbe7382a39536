import Foundation
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Requests of members that are changed while they are in the list.
@Suite(.timeLimit(.minutes(10))) struct RequestChangeTests {
  @Test func `A new address for an expired link resumes from the bytes on disk`() async throws {
    try await QueueFixture.with([.held("a")]) { queue in
      func request(_ token: String) throws -> TransferRequest {
        .init(
          .download(
            try queue.base.request("/a?token=\(token)", as: "a") { $0.connections = 1 }))
      }
      let a = try await queue.manager.add(request("old"))
      let url = try #require(try request("new").download?.url)
      try await queue.server.waitForHeld("/a")
      try await queue.log.wait(for: "bytes") { $0.bytes(of: a).contains { $0 > 0 } }
      #expect(await refusal { try await a.set { $0.download?.url = url } }?.refusal == .isRunning)
      try await a.pause()
      try await a.set { $0.download?.url = url }
      queue.server.setFaults("/a", [])
      try await a.resume()
      let result = try await a.result
      #expect(result.reused >= Int64(QueueFixture.stallOffset) / 2)
      #expect(try queue.base.isWhole("a", seed: .of("a"), length: QueueFixture.length))
    }
  }

  @Test(arguments: [false, true])
  func `Another resource's address starts over, unless the request declares it the same`(
    isSame: Bool
  ) async throws {
    let fresh = FaultScript.Resource(
      "/fresh", seed: .of("a"), length: Int64(QueueFixture.length))
    try await QueueFixture.with([.held("a"), fresh]) { queue in
      let a = try await queue.add("a")[0]
      let url = try ResourceURL(queue.server.url("/fresh"))
      try await queue.hold(a)
      try await a.pause()
      try await a.set {
        $0.download?.url = url
        $0.download?.resumesFromOtherURL = isSame
      }
      try await a.resume()
      let result = try await a.result
      #expect((result.reused > 0) == isSame)
      #expect(queue.asked == ["a", "fresh"])
      try queue.expectWhole(a)
    }
  }

  @Test func `A running transfer gets another rate limit and priority, and nothing else`()
    async throws
  {
    try await QueueFixture.with([.held("a")]) { queue in
      let a = try await queue.add("a")[0]
      try await queue.hold(a)
      try await a.set {
        $0.download?.rateLimit = 1 << 20
        $0.priority = .background
      }
      #expect(await a.summary?.priority == .background)
      #expect(
        await refusal {
          try await a.set {
            $0.download?.rateLimit = nil
            $0.download?.connections = 2
          }
        }?.refusal == .isRunning)
      try await a.set { #expect($0.download?.rateLimit == 1 << 20) }
      queue.release(a)
      #expect(try await a.result.state == .completed)
    }
  }

  @Test func `A failed transfer can get another address, and retries there`() async throws {
    try await QueueFixture.with([.plain("a")]) { queue in
      let gone = try await queue.manager.add(queue.request("gone"))
      #expect(await code(gone) == .notFound)
      let url = try ResourceURL(queue.server.url("/a"))
      let path = queue.base.path("other")
      try await gone.set {
        $0.download?.url = url
        $0.download?.destination = .file(path)
      }
      #expect(await gone.summary?.state == .failed)
      try await gone.retry()
      #expect(try await gone.result.path == path)
    }
  }

  @Test func `A cancel deletes the bytes of a transfer whose address was changed`() async throws {
    try await QueueFixture.with([.held("a"), .plain("b")]) { queue in
      let a = try await queue.add("a")[0]
      try await queue.hold(a)
      try await a.pause()
      let url = try ResourceURL(queue.server.url("/b"))
      try await a.set { $0.download?.url = url }
      try await a.cancel()
      #expect(try FileManager.default.contentsOfDirectory(atPath: queue.base.path("")).isEmpty)
      queue.release(a)
    }
  }

  /// A download under a name derived from its address, paused with bytes on disk.
  private func paused(in queue: QueueFixture) async throws -> Transfer {
    let a = try await queue.manager.add(
      queue.request("a") { $0.destination = .directory(queue.base.path("")) })
    try await queue.hold(a)
    try await a.pause()
    return a
  }

  @Test func `An address that gives the file another name cannot be set after the first run`()
    async throws
  {
    try await QueueFixture.with([.held("a")], atMost: 2) { queue in
      let a = try await paused(in: queue)
      let other = try ResourceURL(queue.server.url("/b"))
      #expect(
        await refusal { try await a.set { $0.download?.url = other } }?.code == .refused)
      try await a.set { $0.download?.connections = 2 }
      queue.release(a)
      try await a.resume()
      #expect(try await a.result.reused > 0)
    }
  }

  @Test func `A failed download shows the bytes that it keeps, also after a restart`() async throws
  {
    let broken = FaultScript.Resource.plain("a").with {
      $0.faults = [Fault(.reset(after: Int64(QueueFixture.length / 2)))]
    }
    try await QueueFixture.with([broken]) { queue in
      let a = try await queue.manager.add(queue.request("a") { $0.retry.retries = 0 })
      #expect(await refusal { _ = try await a.result } != nil)
      let row = try #require(try await queue.manager.coordinator.views(of: [a.id]).first?.row)
      #expect(row.state == .failed)
      #expect(row.bytes > 0 && row.total == Int64(QueueFixture.length))
      #expect(row.fraction.map { $0 > 0 && $0 < 1 } == true)
    }
  }

  @Test(arguments: [true, false])
  func `A failed download with bytes resumes, or is cancelled, under its name`(
    isCancelled: Bool
  ) async throws {
    let broken = FaultScript.Resource.plain("a").with {
      $0.faults = [Fault(.reset(after: Int64(QueueFixture.length / 2)))]
    }
    try await QueueFixture.with([broken]) { queue in
      let a = try await queue.manager.add(
        queue.request("a") {
          $0.destination = .directory(queue.base.path(""))
          $0.retry.retries = 0
        })
      #expect(await refusal { _ = try await a.result } != nil)
      #expect(try queue.base.names().contains("a.haul.part"))
      let other = try ResourceURL(queue.server.url("/b"))
      #expect(await refusal { try await a.set { $0.download?.url = other } }?.code == .refused)
      let renewed = try ResourceURL(queue.server.url("/a?x=2"))
      try await a.set { $0.download?.url = renewed }
      queue.server.setFaults("/a", [])
      if isCancelled {
        try await a.cancel()
        #expect(try queue.base.names() == [])
      } else {
        try await a.retry()
        _ = try await a.result
        try queue.expectWhole(a)
        #expect(try queue.base.names() == ["a"])
      }
    }
  }

  @Test func `A part file with a number is resumed when the name without it is free`()
    async throws
  {
    try await QueueFixture.with([.held("a")]) { queue in
      try "other".write(toFile: queue.base.path("a"), atomically: true, encoding: .utf8)
      let a = try await paused(in: queue)
      try FileManager.default.removeItem(atPath: queue.base.path("a"))
      queue.release(a)
      try await a.resume()
      let result = try await a.result
      #expect(result.reused > 0)
      #expect(try queue.base.names() == ["a (1)"])
    }
  }

  @Test func `An address that gives the file the same name can be set`() async throws {
    try await QueueFixture.with([.held("a")], atMost: 2) { queue in
      let a = try await paused(in: queue)
      let renewed = try ResourceURL(queue.server.url("/a?token=2"))
      try await a.set { $0.download?.url = renewed }
      queue.release(a)
      try await a.resume()
      _ = try await a.result
      try queue.expectWhole(a)
      #expect(try queue.base.names() == ["a"])
    }
  }

  @Test func `A transfer whose failed dependency was removed can be changed`() async throws {
    try await StepFixture.with(active: 1) { fixture in
      fixture.manager.register(step: "fail") { _ in throw CancellationError() }
      var first = TransferRequest.step("fail")
      first.identifier = "a"
      let added = try await fixture.manager.add([first, step("b", after: ["a"])])
      _ = await outcome(added[0])
      try await added[0].remove()
      try await added[1].set { $0.priority = .utility }
      #expect(await added[1].summary?.state == .queued)
      try await added[1].set { $0.after = [] }
      await fixture.gate.waitForArrivals(1)
    }
  }

  @Test func `A transfer that is changed to a free host starts at once`() async throws {
    try await QueueFixture.with([.held("a"), .held("b")], active: 2) { queue in
      await queue.manager.setLimits(maximumActive: 2, maximumActivePerHost: 1)
      let added = try await queue.add("a", "b")
      try await queue.hold(added[0])
      #expect(await queue.states == [.running, .queued])
      let url = try ResourceURL(queue.server.url("/b", host: "localhost"))
      try await added[1].set { $0.download?.url = url }
      try await queue.hold(added[1])
      for transfer in added { queue.release(transfer) }
      await queue.manager.waitUntilEmpty()
    }
  }

  private func step(_ name: String, after: [String] = []) -> TransferRequest {
    var request = TransferRequest.step("gate", input: name)
    request.identifier = name
    request.after = after
    return request
  }

  @Test func `Dependencies can be changed while transfers wait, and survive a restart`()
    async throws
  {
    let store = MemoryStore()
    try await StepFixture.with(active: 1, store: store) { fixture in
      let added = try await fixture.manager.add([step("a"), step("b"), step("c", after: ["a"])])
      await fixture.gate.waitForArrivals(1)
      try await added[1].set { $0.after = ["c"] }
      try await added[2].set { $0.priority = .userInitiated }
      #expect(await added[2].summary?.priority == .userInitiated)
    }
    let gate = StepGate()
    gate.open()
    try await StepFixture.with(active: 1, store: store, gate: gate) { fixture in
      await fixture.manager.waitUntilEmpty()
      // The first may have ended before the first manager stopped it.
      #expect(Array(gate.came.drop { $0 == "a" }) == ["c", "b"])
    }
  }

  @Test func `Removing a dependency starts a transfer, and adding one makes it wait`() async throws
  {
    try await StepFixture.with(active: 2) { fixture in
      let added = try await fixture.manager.add([step("a"), step("b", after: ["a"])])
      await fixture.gate.waitForArrivals(1)
      await fixture.manager.suspend()
      try await fixture.manager.add(step("c"))
      try await added[1].set { $0.after = ["c"] }
      await fixture.manager.unsuspend()
      await fixture.gate.waitForArrivals(2)
      #expect(fixture.gate.came == ["a", "c"])
      try await added[1].set { $0.after = [] }
      await fixture.manager.setLimits(maximumActive: 3, maximumActivePerHost: 3)
      await fixture.gate.waitForArrivals(3)
      #expect(fixture.gate.came == ["a", "c", "b"])
    }
  }

  @Test func `A change that would close a dependency cycle is refused and reported`() async throws {
    try await StepFixture.with(active: 1) { fixture in
      await fixture.manager.suspend()
      let added = try await fixture.manager.add([
        step("a"), step("b", after: ["a"]), step("c", after: ["b"]),
      ])
      let error = await #expect(throws: TransferError.self) {
        try await added[0].set { $0.after = ["c"] }
      }
      #expect(error?.code == .dependencyFailed)
      for name in ["a", "b", "c"] { #expect(error?.message.contains(name) == true) }
      fixture.gate.open()
      await fixture.manager.unsuspend()
      await fixture.manager.waitUntilEmpty()
      #expect(fixture.gate.came == ["a", "b", "c"])
    }
  }

  @Test func `A transfer that waits, and one that has ended, go to another group`() async throws {
    try await StepFixture.with(active: 1) { fixture in
      func step(_ name: String, in group: String?) -> TransferRequest {
        var request = self.step(name)
        request.group = group
        return request
      }
      let done = try await fixture.manager.add(step("done", in: "a"))
      fixture.gate.open()
      _ = try await done.result
      await fixture.manager.suspend()
      let waiting = try await fixture.manager.add(step("waiting", in: "a"))
      let other = try await fixture.manager.add(step("other", in: "b"))
      try await waiting.set { $0.group = "b" }
      // The first group has only members that have ended now.
      _ = try await fixture.manager.group("a").completion()
      try await done.set { $0.group = "b" }
      #expect(await fixture.manager.summaries(of: .group("a")).isEmpty)
      #expect(
        await fixture.manager.summaries(of: .group("b")).map(\.id)
          == [done.id, waiting.id, other.id])
      try await other.set { $0.group = nil }
      await fixture.manager.unsuspend()
      _ = try await fixture.manager.group("b").completion()
      #expect(
        await fixture.manager.summaries(of: .group("b")).allSatisfy { $0.state == .completed })
      await fixture.manager.waitUntilEmpty()
    }
  }

  @Test func `What is added paused does not start before it is resumed`() async throws {
    try await StepFixture.with { fixture in
      fixture.gate.open()
      let added = try await fixture.manager.added(
        [step("a"), step("b", after: ["a"])], ifKnown: .keep, key: "call", isPaused: true
      ).all
      let again = try await fixture.manager.added(
        [step("a"), step("b", after: ["a"])], ifKnown: .keep, key: "call", isPaused: true
      ).all
      #expect(again == added)
      await fixture.manager.waitUntilEmpty()
      #expect(await fixture.manager.summaries().map(\.state) == [.paused, .paused])
      #expect(fixture.gate.came.isEmpty)
      _ = try await fixture.manager.resume(.all)
      await fixture.manager.waitUntilEmpty()
      #expect(fixture.gate.came == ["a", "b"])
    }
  }

  @Test func `The identifier of a transfer cannot be changed`() async throws {
    try await StepFixture.with { fixture in
      await fixture.manager.suspend()
      let a = try await fixture.manager.add(step("a"))
      for change: @Sendable (inout TransferRequest) -> Void in [
        { $0.identifier = "b" }, { $0.after = ["nobody"] },
      ] {
        await #expect(throws: TransferError.self) { try await a.set(change) }
      }
      #expect(try await fixture.manager.add(step("a")) == a)
      try await a.remove()
      #expect(
        await refusal { try await a.set { $0.priority = .background } }?.refusal == .isUnknown)
    }
  }
}
