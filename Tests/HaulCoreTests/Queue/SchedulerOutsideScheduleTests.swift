import HaulCore
import Testing

/// A scheduler outside the schedule.
@Suite struct SchedulerOutsideScheduleTests {
  private let ids: [TransferID]
  private let now = Instant()

  init() {
    var generator = SplitMix64(seed: 25)
    ids = (0..<4).map { _ in TransferID(using: &generator) }
  }

  @Test func `A closed scheduler starts only forced transfers, and keeps the order`() {
    var limits = Scheduler.Limits()
    limits.active = 2
    var queue = Scheduler(limits)
    for id in ids { queue.add(id, host: "a") }
    check(queue.next(at: now), is: [ids[0], ids[1]])
    queue.closedReason = .schedule("until Monday", until: 5)
    // Stopped transfers have their old positions.
    for id in [ids[1], ids[0]] {
      check(queue.release(id), is: true)
      queue.add(id, host: "a")
    }
    check(queue.next(at: now).isEmpty, is: true)
    #expect(queue.reason(for: ids[0], at: now) == .schedule("until Monday", until: 5))
    queue.startNow(ids[3])
    check(queue.next(at: now).isEmpty, is: true)
    queue.force(ids[2])
    #expect(queue.reason(for: ids[2], at: now) == nil)
    check(queue.next(at: now), is: [ids[2]])
    // No other transfer is about to start: the running one gets the connections.
    check(queue.grantConnection(for: ids[2]), is: true)
    check(queue.grantConnection(for: ids[2]), is: true)
    check(queue.finished(ids[2]), is: true)
    queue.closedReason = nil
    var order: [TransferID] = []
    while case let started = queue.next(at: now), !started.isEmpty {
      order += started
      for id in started { queue.finished(id) }
    }
    #expect(order == [ids[3], ids[0], ids[1]])
  }
}
