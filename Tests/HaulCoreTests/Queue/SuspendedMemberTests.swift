import HaulCore
import Testing

/// A member whose run found something in its way.
@Suite struct SuspendedMemberTests {
  private var queue = QueueMachine()
  private let id: TransferID
  private let full = WaitReason.diskFull(
    WaitReason.Shortage(device: 1, directory: "/d", needed: 10, free: 0))

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
    queue.suspended(id, full, &decision)
    #expect(queue.members[id]?.state == .queued)
    #expect(queue.members[id]?.waiting == full)
    #expect(queue.granted(id) == nil, "it has no slot")
    #expect(decision.effects.isEmpty && decision.events.isEmpty)
    #expect(decision.change.updated.map(\.storedState.status) == [.queued])
    #expect(decision.change.updated.map(\.storedState.waitReason) == [full], "in the same change")
    #expect(queue.busy == 1, "it goes on by itself")
    queue.due(id, &decision)
    #expect(decision.effects == [.enqueue(id)])
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
      queue.suspended(id, full, &decision)
      #expect(queue.members[id]?.state == state)
      #expect(queue.members[id]?.waiting == (command == .requeue ? .slot : nil))
    }
  }

  @Test func `A command ends the wait: paused stays paused, and start tries at once`() {
    var paused = queue
    var decision = QueueDecision()
    paused.suspended(id, full, &decision)
    _ = paused.handle(.pause, [id], by: .user, &decision)
    paused.due(id, &decision)
    #expect(paused.members[id]?.state == .paused)
    #expect(paused.busy == 0)
    var started = queue
    started.suspended(id, full, &decision)
    decision = QueueDecision()
    _ = started.handle(.start, [id], by: .user, &decision)
    #expect(decision.effects == [.enqueue(id), .prefer(id)])
  }

  @Test func `After a restart it tries anew, and says until then what was in its way`() {
    var queue = queue
    var decision = QueueDecision()
    queue.suspended(id, full, &decision)
    guard let facts = queue.members[id]?.facts else { return }
    decision = QueueDecision()
    var reopened = QueueMachine(StoredQueue(members: [facts], lastEvent: 1))
    #expect(reopened.waitReason(of: id) == full)
    reopened.recover(reopened.takeStored(), at: 0, &decision)
    #expect(decision.effects == [.enqueue(id)])
    #expect(reopened.waitReason(of: id) == full)
    decision = QueueDecision()
    #expect(reopened.granted(id, &decision) != nil)
    #expect(reopened.waitReason(of: id) == nil)
    #expect(decision.change.updated.map(\.storedState.waitReason) == [nil])
  }

  @Test func `One that waits for a slot is scheduled at once, and one that is to stop stops`() {
    var slot = queue
    var decision = QueueDecision()
    slot.suspended(id, .slot, &decision)
    #expect(decision.effects == [.enqueue(id)])
    #expect(slot.waitReason(of: id) == .slot)
    var stopped = queue
    decision = QueueDecision()
    stopped.suspend([id], &decision)
    #expect(decision.effects == [.stop(id, deletingBytes: false)])
    #expect(decision.change.isEmpty, "nothing of it is to be stored")
    stopped.ended(id, .paused, nil, by: .disk, &decision)
    #expect(stopped.members[id]?.waiting == .slot)
  }
}
