import HaulCore
import Testing

/// Consequences of a change of one member for others.
@Suite struct QueueMachineTests {
  private typealias Effect = QueueDecision.Effect

  /// Two members, the second after the first.
  private struct Chain {
    var queue = QueueMachine()
    let first: TransferID
    let second: TransferID

    init() throws {
      var generator = SplitMix64(seed: 5)
      first = TransferID(using: &generator)
      second = TransferID(using: &generator)
      var requests = [TransferRequest.step("first"), .step("second")]
      requests[1].after = [first]
      let additions = zip([first, second], requests).map {
        QueueMachine.Addition(id: $0, request: $1, target: nil)
      }
      var decision = QueueDecision()
      try queue.add(additions, &decision)
    }

    /// Runs a member to its end.
    mutating func finish(_ id: TransferID, _ end: TransferMachine.RunEndKind) -> [Effect] {
      #expect(queue.granted(id) != nil)
      var decision = QueueDecision()
      queue.ended(id, end, nil, by: .user, &decision)
      return decision.effects
    }
  }

  @Test func `A dependent gets no slot until its dependency completes`() throws {
    var chain = try Chain()
    #expect(chain.queue.granted(chain.second) == nil)
    #expect(chain.finish(chain.first, .completed).contains(.enqueue(chain.second)))
    #expect(chain.queue.granted(chain.second) != nil)
  }

  @Test func `Removing a completed dependency blocks nothing, even after a restart`() throws {
    var chain = try Chain()
    _ = chain.finish(chain.first, .completed)
    var decision = QueueDecision()
    _ = chain.queue.handle(.remove, [chain.first], by: .user, &decision)
    #expect(decision.change.satisfiedDependencies == [chain.first])
  }

  @Test func `Removing a failed dependency still blocks its dependents`() throws {
    var chain = try Chain()
    _ = chain.finish(chain.first, .failed)
    var decision = QueueDecision()
    _ = chain.queue.handle(.remove, [chain.first], by: .user, &decision)
    #expect(decision.change.satisfiedDependencies.isEmpty)
    #expect(chain.queue.waitReason(of: chain.second) == .dependency(chain.first, isBlocked: true))
  }

  @Test(arguments: [TransferMachine.Command.start, .restart, .pause, .resume])
  func `A retry delay survives a restart and ends early by a command`(
    command: TransferMachine.Command
  ) throws {
    var chain = try Chain()
    var decision = QueueDecision()
    #expect(chain.queue.granted(chain.first) != nil)
    chain.queue.noteWait(of: chain.first, .retry(at: 1000), at: 0, &decision)
    let stored = try #require(decision.change.updated.first)
    let record = TransferRecord(
      id: chain.first, request: .step("first"), storedState: stored.storedState)
    func reopened(at time: Double) -> (QueueMachine, [Effect]) {
      var member = QueuedMember(record)
      member.isIdempotent = true
      var queue = QueueMachine(StoredQueue(members: [member]))
      var decision = QueueDecision()
      queue.recover(queue.takeStored(), at: time, &decision)
      return (queue, decision.effects)
    }
    #expect(reopened(at: 1000).1 == [.enqueue(chain.first)])
    var (queue, effects) = reopened(at: 999)
    #expect(effects == [.postpone(chain.first, until: 1000)])
    #expect(queue.outstandingCount == 1)
    var other = queue
    var due = QueueDecision()
    other.waitEnded(chain.first, &due)
    #expect(due.effects == [.enqueue(chain.first)])
    var commanded = QueueDecision()
    _ = queue.handle(command, [chain.first], by: .user, &commanded)
    #expect(
      commanded.effects.contains(.enqueue(chain.first)) == [.start, .restart].contains(command))
    #expect(queue.outstandingCount == (command == .pause ? 0 : 1))
    #expect(commanded.change.updated.allSatisfy { $0.storedState.retryAt == nil })
  }

  @Test func `A slot is declined if the member waits for a dependency again`() throws {
    var chain = try Chain()
    _ = chain.finish(chain.first, .completed)
    var decision = QueueDecision()
    _ = chain.queue.handle(.restart, [chain.first], by: .user, &decision)
    // The scheduler does not know it yet.
    #expect(decision.effects.contains(.unschedule(chain.second)))
    #expect(chain.queue.granted(chain.second) == nil)
  }

  @Test func `A completed dependency does not start a member that waits for the disk`() throws {
    var chain = try Chain()
    _ = chain.finish(chain.first, .completed)
    #expect(chain.queue.granted(chain.second) != nil)
    let full = WaitReason.diskFull(
      WaitReason.Shortage(device: 1, directory: "/d", needed: 10, free: 0))
    var decision = QueueDecision()
    chain.queue.suspended(chain.second, full, &decision)
    _ = chain.queue.handle(.restart, [chain.first], by: .user, &decision)
    #expect(!chain.finish(chain.first, .completed).contains(.enqueue(chain.second)))
    #expect(chain.queue.members[chain.second]?.waiting == full)
  }

  @Test func `A revoked pause does not determine the initiator of a later pause`() throws {
    var chain = try Chain()
    let id = chain.first
    #expect(chain.queue.granted(id) != nil)
    var decision = QueueDecision()
    _ = chain.queue.handle(.pause, [id], by: .signal, &decision)
    _ = chain.queue.handle(.resume, [id], by: .user, &decision)
    chain.queue.ended(id, .paused, nil, by: .disk, &decision)
    #expect(chain.queue.members[id]?.state == .queued)
    #expect(chain.queue.members[id]?.storedState.pausedBy == nil)
    #expect(chain.queue.granted(id) != nil)
    decision = QueueDecision()
    chain.queue.ended(id, .paused, nil, by: .disk, &decision)
    #expect(decision.events.map(\.kind) == [.paused(by: .disk)])
    #expect(decision.change.updated.map(\.storedState.pausedBy) == [.disk])
  }
}

extension QueueMachine {
  /// Why it waits, at 0 s since 1970.
  func waitReason(of id: TransferID) -> WaitReason? {
    var known: [TransferID: TransferID?] = [:]
    return members[id].flatMap { waitReason(of: $0, at: 0, &known) }
  }
}
