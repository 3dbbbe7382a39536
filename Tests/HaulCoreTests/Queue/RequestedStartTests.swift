import HaulCore
import NIOConcurrencyHelpers
import Testing

/// A requested start is part of the stored state, until the end or a command withdraws it.
@Suite struct RequestedStartTests {
  private let ids = (1...4).compactMap { TransferID(bits: $0) }
  private var queue = QueueMachine()

  init() throws {
    var decision = QueueDecision()
    let additions = ids.map {
      QueueMachine.Addition(id: $0, request: .step("work"), target: nil)
    }
    try queue.add(additions, &decision)
  }

  /// Carries out a command, and returns the requests that it stores for the members.
  @discardableResult
  private mutating func command(
    _ command: TransferMachine.Command, _ indices: [Int], isWaiting: Bool = false
  ) -> [StartRequest?] {
    var decision = QueueDecision()
    let refusals = queue.handle(
      command, indices.map { ids[$0] }, by: .user, waitsForSlot: { _ in isWaiting }, &decision)
    #expect(refusals.isEmpty)
    return decision.change.updated.map(\.storedState.startRequest)
  }

  private func request(_ number: Int64, isForced: Bool = false) -> StartRequest {
    StartRequest(number: number, isForced: isForced)
  }

  /// The order in which a queue with one slot starts its members after it was stored and opened.
  private func orderWhenOpened(suspended: Bool = false) -> [TransferID] {
    let members = ids.compactMap { queue.members[$0] }
    var opened = QueueMachine(StoredQueue(members: members))
    var limits = Scheduler.Limits()
    limits.active = 1
    var scheduler = Scheduler(limits)
    opened.scheduleStored { id, host, priority, rank, request in
      scheduler.add(id, host: host, priority: priority, rank: rank)
      if let request { scheduler.requestStart(id, request) }
    }
    var decision = QueueDecision()
    opened.recover(opened.takeStored(), at: 0, &decision)
    for case .enqueue(let id) in decision.effects {
      if let member = opened.members[id] { scheduler.add(member) }
    }
    scheduler.isSuspended = suspended
    var order: [TransferID] = []
    while case let next = scheduler.next(at: Instant()), !next.isEmpty {
      order += next
      for id in next { scheduler.finished(id) }
    }
    return order
  }

  @Test mutating func `A start is stored with its command, and its order survives a restart`() {
    check(command(.start, [3]), is: [request(1)])
    check(command(.start, [1]), is: [request(2)])
    #expect(orderWhenOpened() == [ids[3], ids[1], ids[0], ids[2]])
    // A repeated command keeps its place.
    check(command(.start, [3]), is: [request(1)])
    check(command(.force, [3]), is: [request(3, isForced: true)])
    #expect(orderWhenOpened() == [ids[3], ids[1], ids[0], ids[2]])
    #expect(orderWhenOpened(suspended: true) == [ids[3]], "only a forced one starts")
  }

  @Test mutating func `New requests follow the stored ones`() {
    command(.start, [3])
    command(.start, [2])
    let members = ids.compactMap { queue.members[$0] }
    queue = QueueMachine(StoredQueue(members: members))
    check(command(.start, [1]), is: [request(3)])
    #expect(orderWhenOpened() == [ids[3], ids[2], ids[1], ids[0]])
  }

  @Test mutating func `A paused member is resumed and its start is stored in one change`() {
    command(.pause, [2])
    check(command(.start, [2]), is: [request(1)])
    #expect(orderWhenOpened().first == ids[2])
  }

  @Test(arguments: [false, true])
  mutating func `The request counts for retries and after a kill, until the end`(
    isForced: Bool
  ) throws {
    command(isForced ? .force : .start, [2])
    var decision = QueueDecision()
    _ = try #require(queue.granted(ids[2], &decision))
    let wanted = request(1, isForced: isForced)
    check(decision.change.updated.map(\.storedState.startRequest), is: [wanted])
    check(decision.change.updated.map(\.storedState.wasRunning), is: [true])
    #expect(orderWhenOpened(suspended: isForced).first == ids[2])
    decision = QueueDecision()
    queue.ended(ids[2], .failed, nil, by: .disk, &decision)
    check(decision.change.updated.map(\.storedState.startRequest), is: [nil])
  }

  @Test(arguments: [TransferMachine.Command.requeue, .restart, .pause])
  mutating func `A command that stops the run withdraws it`(later: TransferMachine.Command) {
    command(.force, [2])
    #expect(queue.granted(ids[2]) != nil)
    check(command(later, [2]), is: [nil])
    #expect(orderWhenOpened(suspended: true).isEmpty)
  }

  @Test mutating func `The end of a schedule window withdraws it`() {
    command(.force, [2])
    #expect(queue.granted(ids[2]) != nil)
    var decision = QueueDecision()
    queue.suspend([ids[2]], &decision)
    queue.ended(ids[2], .paused, nil, by: .disk, &decision)
    check(decision.change.updated.map(\.storedState.startRequest), is: [nil])
  }

  @Test mutating func `The run of a started member waits for a disk as any other`() {
    command(.start, [2])
    #expect(queue.granted(ids[2]) != nil)
    var decision = QueueDecision()
    queue.suspended(ids[2], .offline, &decision)
    #expect(decision.effects.isEmpty, "it would start again and again")
    #expect(queue.members[ids[2]]?.waiting == .offline)
  }

  @Test(arguments: [TransferMachine.Command.pause, .cancel])
  mutating func `A later command withdraws it`(later: TransferMachine.Command) {
    command(.start, [2])
    check(command(later, [2]), is: [nil])
    check(command(later == .pause ? .resume : .retry, [2]), is: [nil])
    #expect(orderWhenOpened() == ids)
  }

  @Test mutating func `A start while it stops is stored at once, and counts when it is queued`() {
    #expect(queue.granted(ids[2]) != nil)
    command(.pause, [2])
    check(command(.start, [2]), is: [request(1)])
    #expect(orderWhenOpened().first == ids[2])
    var decision = QueueDecision()
    queue.ended(ids[2], .paused, nil, by: .user, &decision)
    #expect(decision.effects == [.enqueue(ids[2])])
    #expect(queue.members[ids[2]]?.storedState.startRequest == request(1))
  }

  @Test mutating func `A pause while it stops withdraws the start`() {
    #expect(queue.granted(ids[2]) != nil)
    command(.requeue, [2])
    command(.start, [2])
    check(command(.pause, [2]), is: [nil])
  }

  @Test mutating func `A start of a run without a slot is stored, and its slot is not`() {
    #expect(queue.granted(ids[2]) != nil)
    // With a slot it waits for nothing.
    check(command(.start, [2], isWaiting: false), is: [])
    check(command(.start, [2], isWaiting: true), is: [request(1)])
    #expect(orderWhenOpened().first == ids[2])
    let slots = RequestedStartSlots()
    slots.update { scheduler in
      scheduler.add(ids[2], host: nil)
      scheduler.requestStart(ids[2], request(1))
    }
    var decision = QueueDecision()
    queue.decide(
      &decision,
      starting: StartPermission(
        scheduler: slots, now: Instant(), isWithinSchedule: true, pendingStarts: [], isDurable: true
      )
    ) { _, _ in }
    #expect(decision.starts?.resumed == [ids[2]])
    #expect(decision.change.isEmpty)
  }

  @Test mutating func `A start before the end of a run is stored ends the wait of that end`() {
    #expect(queue.granted(ids[2]) != nil)
    check(command(.start, [2], isWaiting: true), is: [request(1)])
    var decision = QueueDecision()
    queue.suspended(ids[2], .slot, &decision)
    #expect(decision.effects == [.enqueue(ids[2])])
    #expect(queue.members[ids[2]]?.waiting == .slot)
    #expect(orderWhenOpened().first == ids[2])
  }

  @Test func `A refused commit leaves the request of the stored state`() {
    var decision = QueueDecision()
    queue.decide(&decision) { (queue, decision) in
      _ = queue.handle(.start, [ids[2]], by: .user, &decision)
    }
    #expect(queue.members[ids[2]]?.storedState.startRequest == nil, "it was not applied")
    #expect(orderWhenOpened() == ids)
  }

  @Test mutating func `A start of a member with unmet dependencies counts once they are met`()
    throws
  {
    let id = try #require(TransferID(bits: 9))
    var request = TransferRequest.step("work")
    request.after = [ids[0]]
    var decision = QueueDecision()
    try queue.add([.init(id: id, request: request, target: nil)], &decision)
    decision = QueueDecision()
    _ = queue.handle(.start, [id], by: .user, &decision)
    #expect(decision.effects.isEmpty)
    check(decision.change.updated.map(\.storedState.startRequest), is: [self.request(1)])
    decision = QueueDecision()
    #expect(queue.granted(ids[0]) != nil)
    queue.ended(ids[0], .completed, TransferResult(state: .completed), by: .disk, &decision)
    #expect(decision.effects.contains(.enqueue(id)))
    #expect(queue.members[id]?.storedState.startRequest == self.request(1))
  }
}

private struct RequestedStartSlots: SharedScheduler {
  private let scheduler = NIOLockedValueBox(Scheduler())

  func update<Result>(_ body: (inout Scheduler) -> Result) -> Result {
    scheduler.withLockedValue(body)
  }
}
