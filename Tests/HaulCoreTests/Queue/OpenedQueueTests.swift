import HaulCore
import HaulTesting
import Testing

/// A list that is opened: which members are scheduled at once, and which need a decision.
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

  /// - Returns: the scheduled members, and the remaining ones.
  private func open(_ members: [QueuedMember]) -> (QueueMachine, [TransferID], [TransferID]) {
    var queue = QueueMachine(StoredQueue(members: members))
    var scheduled: [TransferID] = []
    queue.scheduleStored { id, _, _, _, _ in scheduled.append(id) }
    let left = queue.takeStored()
    return (queue, scheduled, left)
  }

  @Test func `Members that only wait for a slot are scheduled in list order`() {
    let (queue, scheduled, left) = open([member(2), member(0), member(1)])
    #expect(scheduled == [ids[0], ids[1], ids[2]])
    #expect(left.isEmpty)
    #expect(queue.outstandingCount == 3)
    #expect(queue.members.values.allSatisfy { $0.waiting == .slot })
  }

  @Test func `Delayed, dependent, interrupted and stopping members need a decision`() {
    let members = [
      member(0),
      member(1) { $0.storedState.waitReason = .retry(at: 1000) },
      member(2, after: [0]),
      member(3) { ($0.storedState.hasRun, $0.storedState.wasRunning) = (true, true) },
      member(4) { $0.storedState.desired = .cancelled },
    ]
    let (queue, scheduled, left) = open(members)
    #expect(scheduled == [ids[0]])
    #expect(left == Array(ids[1...4]))
    // The scheduled one, and the one that is being stopped.
    #expect(queue.outstandingCount == 2)
  }

  @Test func `Paused and ended members stay as they are`() {
    let rest = [StoredStatus.paused, .failed, .completed, .cancelled]
    let (queue, scheduled, left) = open(
      rest.enumerated().map { number, status in
        member(number) {
          $0.storedState.status = status
          $0.storedState.desired = status == .paused ? .paused : .run
        }
      })
    #expect(scheduled.isEmpty && left.isEmpty)
    #expect(queue.outstandingCount == 0)
  }
}
