import HaulCore
import HaulKit
import HaulTesting
import Testing

/// A slot is free only when everything in it has stopped: on the real engine, over the real
/// network.
@Suite(.timeLimit(.minutes(10))) struct FreedSlotTests {
  /// What stops a running transfer.
  enum Order: CaseIterable, Sendable {
    case pause, cancel, cancelKeepingBytes, remove, requeue, restart

    /// Whether it runs again afterwards, before those behind it.
    var runsAgain: Bool { self == .requeue || self == .restart }

    func send(to transfer: Transfer) async throws {
      switch self {
      case .pause: try await transfer.pause()
      case .cancel: try await transfer.cancel()
      case .cancelKeepingBytes: try await transfer.cancel(keepingBytes: true)
      case .remove: try await transfer.remove()
      case .requeue: try await transfer.requeue()
      case .restart: try await transfer.restart()
      }
    }
  }

  @Test(arguments: Order.allCases, [1, 3])
  func `Nothing starts before the connections of a stopped transfer are closed`(
    order: Order, connections: Int
  ) async throws {
    let gate = StepGate()
    let names: [FaultScript.Resource] = [.held("a"), .plain("b"), .plain("c")]
    try await QueueFixture.with(names, atMost: 2, connections: connections, gate: gate) { queue in
      let (a, b) = (try await queue.add("a")[0], try await queue.add("b")[0])
      // With one connection, no answer of it loses a race: its end would be held at the gate too.
      let c = try await queue.manager.add(try queue.request("c") { $0.connections = 1 })
      try await queue.hold(a)
      let command = Task { try await order.send(to: a) }
      await gate.waitForArrivals(1)
      try await until { await a.summary?.state == .stopping }
      // One is forced beyond the limit: all others that may start have started before it ends.
      try await c.start(force: true)
      _ = try await c.result
      #expect(await b.summary?.state == .queued)
      #expect(queue.requests(b).isEmpty)
      queue.server.setFaults("/a", [])
      gate.open()
      try await command.value
      _ = try await b.result
      #expect(queue.order.last == "b")
      guard order.runsAgain else { return }
      // It may wait for publication while the next one runs.
      _ = try await a.result
      try queue.expectWhole(a)
    }
  }

  @Test(arguments: Order.allCases)
  func `Nothing starts before a stopped step has returned`(order: Order) async throws {
    try await StepFixture.with(active: 1) { fixture in
      let (manager, gate) = (fixture.manager, fixture.gate)
      let first = try await manager.add(.step("gate", input: "first"))
      await gate.waitForArrivals(1)
      let behind = try await manager.add([.step("gate", input: "second"), .step("pass")])
      let command = Task { try await order.send(to: first) }
      try await until { await first.summary?.state == .stopping }
      try await behind[1].start(force: true)
      _ = try await behind[1].result
      #expect(await behind[0].summary?.state == .queued)
      #expect(gate.came == ["first"])
      gate.open()
      try await command.value
      _ = try await behind[0].result
      #expect(gate.mostInside == 1)
    }
  }
}
