import HaulCore
import HaulFiles
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// A pause and a resume in quick succession, on one manager.
@Suite(.timeLimit(.minutes(10)))
struct PauseAndResumeTests {
  /// What the transfer is doing when the command comes.
  enum Moment: CaseIterable, Sendable {
    case beforeFirstByte, midBody, withoutValidator, verifying

    var resource: FaultScript.Resource {
      switch self {
      case .beforeFirstByte: .plain("a").with { $0.faults = [Fault(.stallBeforeHead)] }
      case .midBody: .held("a")
      case .withoutValidator:
        .held("a").with { ($0.entityTag, $0.lastModified) = (nil, nil) }
      // The bytes of the second connection are out of order, so they are read back for
      // verification.
      case .verifying:
        .plain("a").with {
          $0.faults = [Fault(.stall(after: Int64(QueueFixture.stallOffset)), when: .request(1))]
        }
      }
    }
  }

  /// One transfer, held at that moment in each run.
  struct Held {
    let moment: Moment
    let queue: QueueFixture
    let transfer: Transfer
    let reads: ReadGate
    /// Where the end of its connections is held.
    let closing: StepGate

    /// Returns when it reaches that moment for the `count`-th time.
    func reach(_ count: Int) async throws {
      switch moment {
      case .beforeFirstByte:
        try await queue.server.waitUntil { $0.requestCount("/a") >= count && $0.held("/a") == 1 }
      case .midBody, .withoutValidator:
        try await queue.server.waitUntil { $0.requestCount("/a") >= count && $0.held("/a") == 1 }
        // Without a validator, each run starts over. A run that is stopped between the head of its
        // answer and the body does not wait for the gate.
        let there = Int64((moment == .midBody ? count : 1) * QueueFixture.stallOffset)
        try await queue.log.wait { [transfer] history in
          history.bytesOfLastRun(of: transfer).contains { $0 >= there }
        }
      case .verifying:
        if count == 1 {
          try await queue.server.waitUntil { snapshot in
            let sent = snapshot.requests.filter { $0.outcome == .completed }
            return snapshot.held("/a") == 1 && !sent.isEmpty
              && snapshot.inProgress("/a") == 1
          }
          // Not only sent, but written: otherwise the rest might come before it, all of it in
          // order.
          let starts = queue.requests(transfer).compactMap {
            $0.range.flatMap { Int($0.dropFirst("bytes=".count).prefix { $0 != "-" }) }
          }
          let behind = try #require(starts.filter { $0 > 0 }.min())
          let there = Int64(QueueFixture.stallOffset + QueueFixture.length - behind)
          try await queue.log.wait { [transfer] in $0.bytes(of: transfer).contains { $0 >= there } }
          queue.release(transfer)
        }
        try await until { reads.held > 0 }
      }
    }

    /// Releases a transfer that is being stopped.
    func letGo() {
      closing.open()
      reads.open()
    }

    /// Lets it stop at its moment again, the next time.
    func hold() {
      if moment != .verifying { closing.close() }
      reads.close()
    }
  }

  private func with(
    _ moment: Moment, _ body: (Held) async throws -> Void
  ) async throws -> [History.Change] {
    // A verification comes after the end of every answer, also of one that lost a race.
    let (reads, closing) = (ReadGate(), StepGate(isOpen: moment == .verifying))
    let disk = CountingDisk(POSIXDisk()) { reads.pass() }
    let connections = moment == .verifying ? 2 : 1
    var added: Transfer?
    let history = try await QueueFixture.with(
      [moment.resource], connections: connections, gate: closing, disk: disk
    ) { queue in
      let request = try queue.request("a") { request in
        if moment == .verifying {
          request.checksums = rightChecksums(
            seed: .of("a"), length: Int64(QueueFixture.length))
        } else {
          reads.open()
        }
      }
      let transfer = try await queue.manager.add(request)
      added = transfer
      let held = Held(
        moment: moment, queue: queue, transfer: transfer, reads: reads, closing: closing)
      do { try await body(held) } catch {
        held.letGo()
        throw error
      }
      held.letGo()
      try queue.expectWhole(transfer)
      #expect(try queue.base.names() == ["a"])
      #expect(await queue.manager.counts == [.completed: 1])
    }
    let changes = history.changes(of: try #require(added))
    #expect(changes.last == .completed && !changes.contains(.failed), "\(history)")
    return changes
  }

  @Test(arguments: Moment.allCases)
  func `A resume during a pause is not lost`(moment: Moment) async throws {
    _ = try await with(moment) { held in
      try await held.reach(1)
      let (transfer, server) = (held.transfer, held.queue.server)
      let pause = Task { try await transfer.pause() }
      try await until { await transfer.summary?.state == .stopping }
      try await transfer.resume()
      server.setFaults("/a", [])
      held.letGo()
      try await pause.value
      #expect(try await transfer.result.state == .completed)
    }
  }

  @Test(arguments: Moment.allCases)
  func `Concurrent pauses and resumes neither hang nor fail the transfer`(
    moment: Moment
  ) async throws {
    _ = try await with(moment) { held in
      try await held.reach(1)
      held.letGo()
      let transfer = held.transfer
      for _ in 1...10 {
        async let pause = held.queue.manager.pause([transfer.id])
        async let resume = held.queue.manager.resume([transfer.id])
        _ = try await (pause, resume)
      }
      held.queue.release(transfer)
      // It depends on which of the last two commands came second.
      let state = await transfer.summary?.state
      if state == .paused { try await transfer.resume() }
      // An answer that had begun before may stop later.
      try await until {
        held.queue.release(transfer)
        return await transfer.summary?.state.isEnded ?? true
      }
      #expect(try await transfer.result.state == .completed)
    }
  }

  @Test(arguments: Moment.allCases)
  func `Repeated pauses and resumes all take effect`(moment: Moment) async throws {
    var pauses = 0
    let changes = try await with(moment) { held in
      let transfer = held.transfer
      for count in 1...3 {
        try await held.reach(count)
        let pause = Task { try await transfer.pause() }
        try await until { await transfer.summary?.state == .stopping }
        held.letGo()
        let refused = await refusal { try await pause.value }
        // All bytes are on disk: the command may come after the last of them was verified.
        if moment == .verifying, await transfer.summary?.state == .completed { return }
        #expect(refused == nil)
        #expect(await transfer.summary?.state == .paused)
        pauses += 1
        if moment != .verifying || count < 3 { held.hold() }
        if moment != .verifying { held.reads.open() }
        if count == 3 { held.queue.server.setFaults("/a", []) }
        try await transfer.resume()
      }
      held.letGo()
      let result = try await transfer.result
      if moment == .midBody { #expect(result.reused >= Int64(3 * QueueFixture.stallOffset)) }
    }
    #expect(changes.count { $0 == .paused } == pauses)
    #expect(moment == .verifying || pauses == 3)
    #expect(changes.count { $0 == .resumed } == pauses)
  }
}
