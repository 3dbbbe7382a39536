import HaulCore
import Testing

/// Members with a start time: when it is checked, and what commands do meanwhile.
@Suite struct StartTimeTests {
  private typealias Effect = QueueDecision.Effect

  private static let ids: [TransferID] = {
    var generator = SplitMix64(seed: 6)
    return [TransferID(using: &generator), TransferID(using: &generator)]
  }()
  private var id: TransferID { Self.ids[0] }
  private var other: TransferID { Self.ids[1] }

  private func request(_ time: Double? = 1000, after: TransferID? = nil) -> TransferRequest {
    var request = TransferRequest.step("s")
    request.startSeconds = time
    if let after { request.after = [after] }
    return request
  }

  private func queue(_ requests: TransferRequest...) throws -> (QueueMachine, QueueDecision) {
    var (queue, decision) = (QueueMachine(), QueueDecision())
    let additions = zip(Self.ids, requests).map {
      QueueMachine.Addition(id: $0, request: $1, target: nil)
    }
    try queue.add(additions, &decision)
    return (queue, decision)
  }

  private func handle(
    _ command: TransferMachine.Command, _ queue: inout QueueMachine
  ) -> QueueDecision {
    var decision = QueueDecision()
    #expect(queue.handle(command, [id], by: .user, &decision).isEmpty)
    return decision
  }

  @Test func `The time is checked when it comes, and at least once a minute`() {
    let now = Instant(.seconds(5))
    func next(_ wallSeconds: Double) -> Duration? {
      StartTime.nextCheck(of: 1000, at: now, wallSeconds: wallSeconds).map { $0 - now }
    }
    #expect(next(990) == .seconds(10))
    #expect(next(0) == .seconds(60))
    #expect(next(999.999_999) == .milliseconds(10), "not in a loop")
    #expect(next(1000) == nil)
    #expect(next(5000) == nil)
  }

  @Test func `A member gets no slot until its time, and is stored with it`() throws {
    var (queue, decision) = try queue(request())
    #expect(decision.effects == [.postpone(id, until: 1000)])
    #expect(decision.change.added.map(\.storedState.waitReason) == [.startTime(until: 1000)])
    #expect(queue.waitReason(of: id) == .startTime(until: 1000))
    #expect(queue.granted(id) == nil)
    #expect(queue.outstandingCount == 1, "it starts by itself")
    var due = QueueDecision()
    queue.waitEnded(id, &due)
    #expect(due.effects == [.enqueue(id)])
    #expect(queue.granted(id) != nil)
    #expect(queue.members[id]?.storedState.waitReason == nil)
  }

  @Test(arguments: [Double.nan, .infinity, -1])
  func `A time that cannot be is none, now, or very late`(time: Double) throws {
    let (_, decision) = try queue(request(time))
    let wanted: [Double: Effect] = [
      .infinity: .postpone(id, until: 1e11), -1: .postpone(id, until: 0),
    ]
    #expect(decision.effects == [wanted[time] ?? .enqueue(id)])
  }

  @Test(arguments: [TransferMachine.Command.start, .force])
  func `A start ends the wait, and is stored`(command: TransferMachine.Command) throws {
    for isPaused in [false, true] {
      var (queue, _) = try queue(request())
      if isPaused { _ = handle(.pause, &queue) }
      let decision = handle(command, &queue)
      #expect(decision.effects.contains(.enqueue(id)))
      #expect(decision.change.updated.map(\.storedState.pendingStartTime) == [nil])
      #expect(queue.waitReason(of: id) == .slot)
      #expect(queue.granted(id) != nil)
      #expect(queue.members[id]?.storedState.waitReason == nil, "it has begun")
    }
  }

  @Test(arguments: [TransferMachine.Command.start, .force], [false, true])
  func `A pause withdraws a start that has not happened, and the time counts again`(
    command: TransferMachine.Command, isOpenedAgain: Bool
  ) throws {
    var (queue, added) = try queue(request())
    var stored = try #require(handle(command, &queue).change.updated.first).storedState
    if isOpenedAgain {
      var record = try #require(added.change.added.first)
      record.storedState = stored
      queue = QueueMachine(StoredQueue(members: [QueuedMember(record)]))
      var decision = QueueDecision()
      queue.recover(queue.takeStored(), at: 500, &decision)
      #expect(decision.effects == [.enqueue(id)], "it is started")
    }
    stored = try #require(handle(.pause, &queue).change.updated.first).storedState
    #expect(stored.pendingStartTime == 1000)
    #expect(handle(.resume, &queue).effects.contains(.postpone(id, until: 1000)))
    #expect(queue.granted(id) == nil)
  }

  @Test(arguments: [TransferResult.State.completed, .failed, .cancelled])
  func `A member that has ended gets no start time, and may get other changes`(
    end: TransferResult.State
  ) throws {
    var (queue, added) = try queue(request(nil))
    let record = try #require(added.change.added.first)
    #expect(queue.granted(id) != nil)
    var decision = QueueDecision()
    queue.ended(
      id, end == .completed ? .completed : end == .failed ? .failed : .cancelled, nil, by: .disk,
      &decision)
    let refusal = #expect(throws: TransferError.self) {
      _ = try queue.set(
        request(2000), of: record, names: (nil, nil), mayHaveBytes: false, &decision)
    }
    #expect(refusal?.code == .refused)
    var other = request(nil)
    other.priority = .background
    #expect(
      try queue.set(other, of: record, names: (nil, nil), mayHaveBytes: false, &decision) == nil)
  }

  @Test func `A new start time withdraws a start that has not happened`() throws {
    var (queue, added) = try queue(request())
    _ = handle(.start, &queue)
    let record = try #require(added.change.added.first)
    var decision = QueueDecision()
    let refusal = try queue.set(
      request(2000), of: record, names: (nil, nil), mayHaveBytes: false, &decision)
    #expect(refusal == nil)
    #expect(decision.effects.contains(.postpone(id, until: 2000)))
    #expect(queue.granted(id) == nil)
  }

  @Test(arguments: [TransferMachine.Command.resume, .requeue])
  func `A pause keeps the start time`(command: TransferMachine.Command) throws {
    var (queue, _) = try queue(request())
    let paused = handle(.pause, &queue)
    #expect(paused.change.updated.map(\.storedState.startTime) == [1000])
    #expect(queue.waitReason(of: id) == nil)
    #expect(queue.outstandingCount == 0)
    #expect(handle(command, &queue).effects.contains(.postpone(id, until: 1000)))
    #expect(queue.waitReason(of: id) == .startTime(until: 1000))
    #expect(queue.granted(id) == nil)
  }

  @Test func `A time that passes while it is paused does not start it`() throws {
    var (queue, _) = try queue(request())
    _ = handle(.pause, &queue)
    var due = QueueDecision()
    queue.waitEnded(id, &due)
    #expect(due.effects.isEmpty)
    #expect(handle(.resume, &queue).effects.contains(.enqueue(id)))
  }

  @Test func `A cancelled member that is retried starts at once`() throws {
    var (queue, _) = try queue(request())
    _ = handle(.cancel, &queue)
    #expect(handle(.retry, &queue).effects.contains(.enqueue(id)))
    #expect(queue.granted(id) != nil)
  }

  @Test func `A dependency and a start time must both be over`() throws {
    var (queue, decision) = try queue(request(nil), request(after: id))
    #expect(!decision.effects.contains(.postpone(other, until: 1000)))
    #expect(queue.waitReason(of: other) == .dependency(id, isBlocked: false))
    #expect(queue.outstandingCount == 1)
    #expect(queue.granted(id) != nil)
    decision = QueueDecision()
    queue.ended(id, .completed, nil, by: .user, &decision)
    #expect(decision.effects.contains(.postpone(other, until: 1000)))
    #expect(queue.waitReason(of: other) == .startTime(until: 1000))
    // The dependency runs again.
    _ = handle(.restart, &queue)
    #expect(queue.waitReason(of: other) == .dependency(id, isBlocked: false))
    var due = QueueDecision()
    queue.waitEnded(other, &due)
    #expect(due.effects.isEmpty)
    #expect(queue.granted(other) == nil)
    #expect(queue.granted(id) != nil)
    decision = QueueDecision()
    queue.ended(id, .completed, nil, by: .user, &decision)
    #expect(decision.effects.contains(.postpone(other, until: 1000)))
  }

  @Test(arguments: [false, true])
  func `A restart of the program keeps it, also of a paused member`(isPaused: Bool) throws {
    var (before, decision) = try queue(request())
    var record = try #require(decision.change.added.first)
    if isPaused {
      let stored = handle(.pause, &before).change.updated.first
      record.storedState = try #require(stored).storedState
    }
    var queue = QueueMachine(StoredQueue(members: [QueuedMember(record)]))
    decision = QueueDecision()
    queue.recover(queue.takeStored(), at: 500, &decision)
    if isPaused {
      #expect(decision.effects.isEmpty)
      decision = handle(.resume, &queue)
    }
    #expect(decision.effects.contains(.postpone(id, until: 1000)))
    #expect(queue.waitReason(of: id) == .startTime(until: 1000))
    #expect(queue.outstandingCount == 1)
  }

  @Test func `Its start time can be changed, removed and given`() throws {
    var (queue, added) = try queue(request())
    let record = try #require(added.change.added.first)
    func set(_ time: Double?) throws -> QueueDecision {
      var decision = QueueDecision()
      let refusal = try queue.set(
        request(time), of: record, names: (nil, nil), mayHaveBytes: false, &decision)
      #expect(refusal == nil)
      return decision
    }
    #expect(try set(2000).effects.contains(.postpone(id, until: 2000)))
    #expect(queue.waitReason(of: id) == .startTime(until: 2000))
    let removed = try set(nil)
    #expect(removed.effects.contains(.enqueue(id)))
    #expect(removed.change.updated.first?.request?.startSeconds == nil)
    let given = try set(3000)
    #expect(given.effects.contains(.unschedule(id)))
    #expect(given.effects.contains(.postpone(id, until: 3000)))
    #expect(queue.granted(id) == nil)
    #expect(try set(nil).effects.contains(.enqueue(id)))
    #expect(queue.granted(id) != nil)
    var decision = QueueDecision()
    let refusal = try queue.set(
      request(4000), of: record, names: (nil, nil), mayHaveBytes: false, &decision)
    #expect(refusal == .isRunning)
  }

  @Test func `An unchanged start time does not begin to count again`() throws {
    var (queue, added) = try queue(request())
    let record = try #require(added.change.added.first)
    _ = handle(.start, &queue)
    var (changed, decision) = (request(), QueueDecision())
    changed.priority = .background
    let refusal = try queue.set(
      changed, of: record, names: (nil, nil), mayHaveBytes: false, &decision)
    #expect(refusal == nil)
    #expect(queue.members[id]?.waiting == .slot)
    #expect(
      decision.change.updated.first?.request?.startSeconds == 1000, "the next add is the same")
  }
}
