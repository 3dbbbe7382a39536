import HaulCore
import HaulTesting
import Testing

/// A list that is opened: who is scheduled at once, and who needs a decision.
@Suite struct OpenedQueueTests {
  private let ids = (1...8).compactMap { TransferID(bits: $0) }

  private func member(
    _ number: Int, after: [Int] = [], _ change: (inout QueuedMember) -> Void = { _ in }
  ) -> QueuedMember {
    var record = TransferRecord(id: ids[number], request: .step("step"))
    record.storedState.rank = Int64(number)
    var member = QueuedMember(record)
    member.after = after.map { ids[$0] }
    change(&member)
    return member
  }

  /// - Returns: who was scheduled, and who is left.
  private func open(_ members: [QueuedMember]) -> (QueueMachine, [TransferID], [TransferID]) {
    var queue = QueueMachine(StoredQueue(members: members))
    var scheduled: [TransferID] = []
    queue.scheduleStored { id, _, _, _ in scheduled.append(id) }
    let left = queue.takeStored()
    return (queue, scheduled, left)
  }

  @Test func `Who waits for a slot only is scheduled in the order of the list, and is busy`() {
    let (queue, scheduled, left) = open([member(2), member(0), member(1)])
    #expect(scheduled == [ids[0], ids[1], ids[2]])
    #expect(left.isEmpty)
    #expect(queue.busy == 3)
    #expect(queue.members.values.allSatisfy { $0.waiting == .slot })
  }

  @Test func `What is due later, comes after others, ran as a step, or was being stopped is left`()
  {
    let members = [
      member(0),
      member(1) { $0.storedState.waitReason = .retry(at: 1000) },
      member(2, after: [0]),
      member(3) { ($0.storedState.hasRun, $0.storedState.isUnderWay) = (true, true) },
      member(4) { $0.storedState.desired = .cancelled },
    ]
    let (queue, scheduled, left) = open(members)
    #expect(scheduled == [ids[0]])
    #expect(left == Array(ids[1...4]))
    // The one that is scheduled, and the one that is being stopped.
    #expect(queue.busy == 2)
  }

  @Test func `What rests stays as it is`() {
    let rest = [TransferStatus.paused, .failed, .completed, .cancelled]
    let (queue, scheduled, left) = open(
      rest.enumerated().map { number, status in
        member(number) {
          $0.storedState.status = status
          $0.storedState.desired = status == .paused ? .paused : .run
        }
      })
    #expect(scheduled.isEmpty && left.isEmpty)
    #expect(queue.busy == 0)
  }
}
