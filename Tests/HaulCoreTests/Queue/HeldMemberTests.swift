import HaulCore
import Testing

/// A member whose run found something in its way.
@Suite struct HeldMemberTests {
  private var queue = QueueMachine()
  private let id: TransferID

  init() throws {
    var generator = SplitMix64(seed: 7)
    id = TransferID(using: &generator)
    let request = TransferRequest.step("step")
    var decision = QueueDecision()
    try queue.add([.init(id: id, request: request, target: nil)], &decision)
    #expect(queue.granted(id) != nil)
  }

  @Test func `It is queued, nothing is told, and it is scheduled when it is due`() {
    var queue = queue
    var decision = QueueDecision()
    queue.held(id, by: .disk, &decision)
    #expect(queue.members[id]?.state == .queued)
    #expect(queue.members[id]?.isPostponed == true)
    #expect(queue.granted(id) == nil, "it has no slot")
    #expect(decision.effects.isEmpty && decision.events.isEmpty)
    #expect(decision.change.updated.map(\.standing.status) == [.queued])
    #expect(queue.busy == 1, "it goes on by itself")
    queue.due(id, &decision)
    #expect(decision.effects == [.schedule(id)])
    #expect(queue.granted(id) != nil)
  }

  @Test func `One that was being stopped is what it was to be`() {
    for (command, state) in [
      (TransferMachine.Command.pause, TransferMachine.State.paused), (.requeue, .queued),
      (.cancelKeepingBytes, .cancelled),
    ] {
      var queue = queue
      var decision = QueueDecision()
      _ = queue.handle(command, [id], by: .user, &decision)
      queue.held(id, by: .disk, &decision)
      #expect(queue.members[id]?.state == state)
      #expect(queue.members[id]?.isPostponed == false)
      #expect(queue.members[id]?.isScheduled == (command == .requeue))
    }
  }

  @Test func `A command ends the wait: paused stays paused, and start tries at once`() {
    var paused = queue
    var decision = QueueDecision()
    paused.held(id, by: .disk, &decision)
    _ = paused.handle(.pause, [id], by: .user, &decision)
    paused.due(id, &decision)
    #expect(paused.members[id]?.state == .paused)
    #expect(paused.busy == 0)
    var started = queue
    started.held(id, by: .disk, &decision)
    decision = QueueDecision()
    _ = started.handle(.start, [id], by: .user, &decision)
    #expect(decision.effects == [.schedule(id), .prefer(id)])
  }

  @Test func `It waits on when the queue is read again, and tries anew after a restart`() {
    var queue = queue
    var decision = QueueDecision()
    queue.held(id, by: .disk, &decision)
    guard let facts = queue.members[id]?.facts else { return }
    let stored = StoredQueue(members: [facts], lastEvent: 1)
    decision = QueueDecision()
    var again = QueueMachine(stored)
    again.reschedule(at: 0, held: [id], &decision)
    #expect(decision.effects.isEmpty)
    #expect(again.members[id]?.isPostponed == true)
    var reopened = QueueMachine(stored)
    reopened.recover(reopened.takeStored(), at: 0, &decision)
    #expect(decision.effects == [.schedule(id)])
  }
}
