import HaulCore
import Testing

/// A member whose run must wait for something, such as a full disk.
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

  @Test func `A suspended member is queued without an event, and scheduled when its wait ends`() {
    var queue = queue
    var decision = QueueDecision()
    queue.suspended(id, full, &decision)
    #expect(queue.members[id]?.state == .queued)
    #expect(queue.members[id]?.waiting == full)
    #expect(queue.granted(id) == nil, "it has no slot")
    #expect(decision.effects.isEmpty && decision.events.isEmpty)
    #expect(decision.change.updated.map(\.storedState.status) == [.queued])
    #expect(decision.change.updated.map(\.storedState.waitReason) == [full], "in the same change")
    #expect(queue.outstandingCount == 1, "it continues by itself")
    queue.waitEnded(id, &decision)
    #expect(decision.effects == [.enqueue(id)])
    #expect(queue.granted(id) != nil)
  }

  @Test func `A suspended member that was being stopped gets its intended state`() {
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

  @Test func `A pause during the wait keeps the member paused, and a start retries at once`() {
    var paused = queue
    var decision = QueueDecision()
    paused.suspended(id, full, &decision)
    _ = paused.handle(.pause, [id], by: .user, &decision)
    paused.waitEnded(id, &decision)
    #expect(paused.members[id]?.state == .paused)
    #expect(paused.outstandingCount == 0)
    var started = queue
    started.suspended(id, full, &decision)
    decision = QueueDecision()
    _ = started.handle(.start, [id], by: .user, &decision)
    let request = StartRequest(number: 1, isForced: false)
    #expect(decision.effects == [.enqueue(id), .requestStart(id, request)])
  }

  @Test func `A restart retries at once, and shows the old wait reason until then`() {
    var queue = queue
    var decision = QueueDecision()
    queue.suspended(id, full, &decision)
    guard let member = queue.members[id] else { return }
    decision = QueueDecision()
    var reopened = QueueMachine(StoredQueue(members: [member], lastEvent: 1))
    #expect(reopened.waitReason(of: id) == full)
    reopened.recover(reopened.takeStored(), at: 0, &decision)
    #expect(decision.effects == [.enqueue(id)])
    #expect(reopened.waitReason(of: id) == full)
    decision = QueueDecision()
    #expect(reopened.granted(id, &decision) != nil)
    #expect(reopened.waitReason(of: id) == nil)
    #expect(decision.change.updated.map(\.storedState.waitReason) == [nil])
  }

  @Test func `A member that waits only for a slot is rescheduled at once`() {
    var slot = queue
    var decision = QueueDecision()
    slot.suspended(id, .slot, &decision)
    #expect(decision.effects == [.enqueue(id)])
    #expect(slot.waitReason(of: id) == .slot)
    var stopped = queue
    decision = QueueDecision()
    stopped.suspend([id], &decision)
    #expect(decision.effects == [.stop(id, deletingBytes: false)])
    #expect(decision.change.isEmpty, "nothing is stored")
    stopped.ended(id, .paused, nil, by: .disk, &decision)
    #expect(stopped.members[id]?.waiting == .slot)
  }
}
