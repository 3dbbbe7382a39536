import HaulCore
import HaulTesting
import Testing

/// Decisions about members that run again after each end.
@Suite struct RepeatingMemberTests {
  private typealias Effect = QueueDecision.Effect
  private static let ids: [TransferID] = {
    var generator = SplitMix64(seed: 6)
    return (1...3).map { _ in TransferID(using: &generator) }
  }()
  private var id: TransferID { Self.ids[0] }
  private let completed = TransferResult(state: .completed, path: "/d/x")

  private func request(
    group: String? = nil, after: [TransferID] = [],
    _ policy: TransferRequest.DependencyPolicy = .block
  ) throws -> TransferRequest {
    var request = TransferRequest.download(try ResourceURL("http://h/x"), to: .directory("/d"))
    (request.group, request.whenDependencyFails) = (group, policy)
    request.after = after
    return request
  }

  /// A queue whose first member repeats and has begun.
  private func running(_ others: TransferRequest...) throws -> (QueueMachine, QueueDecision) {
    var (queue, decision) = (QueueMachine(), QueueDecision())
    var first = try request(group: others.first?.group)
    first.repetition = .every(.seconds(3600))
    let additions = zip(Self.ids, [first] + others).map {
      QueueMachine.Addition(id: $0, request: $1, target: nil)
    }
    try queue.add(additions, &decision)
    #expect(queue.granted(id) != nil)
    return (queue, decision)
  }

  /// Ends its run; it runs again at 1000.
  private func end(
    _ end: TransferMachine.RunEndKind, _ queue: inout QueueMachine
  ) -> QueueDecision {
    var decision = QueueDecision()
    let result =
      end == .completed ? completed : TransferResult(state: end == .failed ? .failed : .cancelled)
    queue.ended(id, end, result, by: .disk, repeatingAt: 1000, &decision)
    return decision
  }

  @Test(arguments: [TransferMachine.RunEndKind.completed, .failed])
  func `It reports its end, and is stored as waiting for its next run in the same decision`(
    kind: TransferMachine.RunEndKind
  ) throws {
    var (queue, _) = try running()
    let decision = end(kind, &queue)
    let names = decision.events.map { event in
      switch event.kind {
      case .finished: "finished"
      case .resumed: "resumed"
      default: "another"
      }
    }
    #expect(names == ["finished", "resumed"])
    let update = try #require(decision.change.updated.first)
    #expect(decision.change.updated.count == 1)
    #expect((update.storedState.status, update.storedState.desired) == (.queued, .run))
    #expect(update.storedState.waitReason == .startTime(until: 1000))
    #expect(update.result?.state == (kind == .completed ? .completed : .failed))
    #expect(decision.effects.contains(.postpone(id, until: 1000)))
    #expect(queue.members[id]?.end == nil, "so nothing clears it from the list")
    #expect(queue.granted(id) == nil, "it takes no slot")
    var due = QueueDecision()
    queue.waitEnded(id, &due)
    #expect(due.effects == [.enqueue(id)])
    #expect(queue.granted(id)?.restartsFromZero == false)
  }

  @Test func `A cancelled one does not run again, and neither does one that is removed`() throws {
    for command in [TransferMachine.Command.cancel, .remove] {
      var (queue, _) = try running()
      var decision = QueueDecision()
      #expect(queue.handle(command, [id], by: .user, &decision).isEmpty)
      let ended = end(.cancelled, &queue)
      #expect(!ended.effects.contains(.postpone(id, until: 1000)))
      #expect(queue.members.state(of: id) == (command == .cancel ? .cancelled : nil))
    }
  }

  @Test func `A pause that comes while its run ends holds the next one`() throws {
    var (queue, _) = try running()
    var decision = QueueDecision()
    #expect(queue.handle(.pause, [id], by: .user, &decision).isEmpty)
    let ended = end(.completed, &queue)
    #expect(ended.change.updated.first?.storedState.status == .paused)
    #expect(queue.members.state(of: id) == .paused)
    decision = QueueDecision()
    _ = queue.handle(.resume, [id], by: .user, &decision)
    #expect(decision.effects.contains(.postpone(id, until: 1000)), "the time is kept")
  }

  @Test func `A start runs it before its time`() throws {
    var (queue, _) = try running()
    _ = end(.completed, &queue)
    var decision = QueueDecision()
    #expect(queue.handle(.start, [id], by: .user, &decision).isEmpty)
    #expect(queue.granted(id) != nil)
    _ = end(.completed, &queue)
    #expect(queue.granted(id) == nil, "the start counted for one run")
  }

  @Test(arguments: TransferRequest.DependencyPolicy.allCases)
  func `A dependent runs once, after the first run that completes`(
    policy: TransferRequest.DependencyPolicy
  ) throws {
    var (queue, _) = try running(try request(after: [Self.ids[0]], policy))
    let dependent = Self.ids[1]
    let failed = end(.failed, &queue)
    #expect(!failed.effects.contains(.enqueue(dependent)))
    #expect(queue.members.state(of: dependent) == .queued, "a failed run is no end for it")
    #expect(queue.blocker(of: dependent) == nil)
    var due = QueueDecision()
    queue.waitEnded(id, &due)
    #expect(queue.granted(id) != nil)
    let done = end(.completed, &queue)
    #expect(done.effects.contains(.enqueue(dependent)))
    #expect(done.change.satisfiedDependencies == [id], "also after a restart of the program")
    #expect(queue.granted(dependent) != nil)
    var finished = QueueDecision()
    queue.ended(dependent, .completed, completed, by: .disk, &finished)
    queue.waitEnded(id, &due)
    _ = queue.granted(id)
    #expect(!end(.completed, &queue).effects.contains(.enqueue(dependent)))
    #expect(queue.members.state(of: dependent) == .completed)
  }

  @Test func `A dependent with another dependency keeps waiting for that one`() throws {
    var (queue, _) = try running(
      try request(), try request(after: [Self.ids[0], Self.ids[1]]))
    let decision = end(.completed, &queue)
    #expect(!decision.effects.contains(.enqueue(Self.ids[2])))
    #expect(queue.granted(Self.ids[1]) != nil)
    var second = QueueDecision()
    queue.ended(Self.ids[1], .completed, completed, by: .disk, &second)
    #expect(second.effects.contains(.enqueue(Self.ids[2])))
  }

  @Test func `Its group ends at each end of a run if the others have ended`() throws {
    var (queue, _) = try running(try request(group: "g"))
    var decision = QueueDecision()
    #expect(queue.granted(Self.ids[1]) != nil)
    queue.ended(Self.ids[1], .completed, completed, by: .disk, &decision)
    #expect(!decision.effects.contains(.groupEnded("g")))
    #expect(end(.completed, &queue).effects.contains(.groupEnded("g")))
    #expect(queue.groups.counts(of: "g")?.isComplete == false, "it waits for its next run")
  }

  @Test func `A clock that is set back brings the next run forward, but not a first one`() throws {
    var (queue, _) = try running()
    _ = end(.completed, &queue)
    var decision = QueueDecision()
    queue.replan(id, at: 1500, &decision)
    #expect(decision.change.isEmpty, "never later")
    queue.replan(id, at: 400, &decision)
    #expect(decision.effects == [.postpone(id, until: 400)])
    #expect(decision.change.updated.first?.storedState.startTime == 400)

    var first = try request()
    (first.repetition, first.startSeconds) = (.every(.seconds(3600)), 1000)
    var (other, added) = (QueueMachine(), QueueDecision())
    try other.add([QueueMachine.Addition(id: id, request: first, target: nil)], &added)
    decision = QueueDecision()
    other.replan(id, at: 400, &decision)
    #expect(decision.change.isEmpty && decision.effects.isEmpty)
  }

  @Test func `Without its repetition, a waiting one has ended as its last run`() throws {
    for kind in [TransferMachine.RunEndKind.completed, .failed] {
      var (queue, _) = try running()
      let update = try #require(end(kind, &queue).change.updated.first)
      var old = try request()
      old.repetition = .every(.seconds(3600))
      var record = TransferRecord(id: id, request: old)
      (record.storedState, record.result) = (update.storedState, update.result)
      var decision = QueueDecision()
      let refusal = try queue.set(
        try request(), of: record, names: (nil, nil), mayHaveBytes: false, &decision)
      #expect(refusal == nil)
      #expect(queue.members.state(of: id) == (kind == .completed ? .completed : .failed))
      let stored = try #require(decision.change.updated.first).storedState
      #expect(stored.status == (kind == .completed ? .completed : .failed))
      #expect(stored.waitReason == nil)
      #expect(decision.effects.contains(.changeRepetition(id, nil)))
    }
  }

  @Test func `While it runs, its repetition may change; once it has ended, none begins`() throws {
    var (queue, _) = try running()
    var (old, new) = (try request(), try request())
    old.repetition = .every(.seconds(3600))
    new.repetition = .at(minute: 60)
    let record = TransferRecord(id: id, request: old)
    var decision = QueueDecision()
    #expect(
      try queue.set(new, of: record, names: (nil, nil), mayHaveBytes: true, &decision) == nil)
    #expect(decision.effects.contains(.changeRepetition(id, new.repetition)))
    #expect(decision.change.updated.first?.request?.repetition == new.repetition)
    queue.ended(id, .completed, completed, by: .disk, &decision)
    #expect(throws: TransferError.self) {
      try queue.set(
        new, of: TransferRecord(id: id, request: try request()), names: (nil, nil),
        mayHaveBytes: false, &decision)
    }
  }
}
