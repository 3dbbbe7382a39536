import HaulCore
import Testing

/// A scheduler outside of the schedule.
@Suite struct SchedulerClosedTests {
  private let ids: [TransferID]
  private let now = Instant()

  init() {
    var generator = SplitMix64(seed: 25)
    ids = (0..<4).map { _ in TransferID(using: &generator) }
  }

  @Test func `Case 25: it starts nothing that is not forced, says why, and keeps the order`() {
    var limits = Scheduler.Limits()
    limits.active = 2
    var queue = Scheduler(limits)
    for id in ids { queue.add(id, host: "a") }
    check(queue.next(at: now), is: [ids[0], ids[1]])
    queue.closed = .schedule("until Monday", until: 5)
    // What was stopped has its old place.
    for id in [ids[1], ids[0]] {
      check(queue.paused(id), is: true)
      queue.add(id, host: "a")
    }
    check(queue.next(at: now).isEmpty, is: true)
    #expect(queue.reason(for: ids[0], at: now) == .schedule("until Monday", until: 5))
    queue.starts(ids[3])
    check(queue.next(at: now).isEmpty, is: true)
    queue.force(ids[2])
    #expect(queue.reason(for: ids[2], at: now) == nil)
    check(queue.next(at: now), is: [ids[2]])
    // Nobody else is about to start: the connections are for the one that runs.
    check(queue.grantConnection(for: ids[2]), is: true)
    check(queue.grantConnection(for: ids[2]), is: true)
    check(queue.finished(ids[2]), is: true)
    queue.closed = nil
    var order: [TransferID] = []
    while case let started = queue.next(at: now), !started.isEmpty {
      order += started
      for id in started { queue.finished(id) }
    }
    #expect(order == [ids[3], ids[0], ids[1]])
  }
}
