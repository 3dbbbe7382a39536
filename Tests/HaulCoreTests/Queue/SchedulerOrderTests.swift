import HaulCore
import Testing

@Suite struct SchedulerOrderTests {
  private let ids: [TransferID]
  private let now = Instant()

  init() {
    var generator = SplitMix64(seed: 12)
    ids = (0..<20).map { _ in TransferID(using: &generator) }
  }

  private func scheduler(_ change: (inout Scheduler.Limits) -> Void) -> Scheduler {
    var limits = Scheduler.Limits()
    change(&limits)
    return Scheduler(limits)
  }

  /// The order in which all transfers start, one at a time.
  private func order(_ queue: Scheduler) -> [TransferID] {
    var queue = queue
    var order: [TransferID] = []
    while case let started = queue.next(at: now), !started.isEmpty {
      order += started
      for id in started { queue.finished(id) }
    }
    return order
  }

  @Test func `Transfers of one priority start by rank, and those with equal ranks as added`() {
    var queue = scheduler { $0.active = 1 }
    queue.add(ids[0], host: "a", rank: 30)
    queue.add(ids[1], host: "b", rank: -5)
    queue.add(ids[2], host: "a")
    queue.add(ids[3], host: "b", rank: 30)
    queue.add(ids[4], host: "b", rank: .max)
    queue.add(ids[5], host: "a")
    check(queue.rank(of: ids[2]), is: 31)
    #expect(order(queue) == [1, 0, 3, 2, 4, 5].map { ids[$0] })
  }

  @Test func `A move takes effect while a transfer is queued, paused or running`() {
    var queue = scheduler { $0.active = 1 }
    for index in 0..<6 { queue.add(ids[index], host: "h\(index % 2)", rank: Int64(index) * 10) }
    check(queue.next(at: now), is: [ids[0]])
    queue.move(ids[0], to: 45)
    #expect(queue.active == 1)
    queue.move(ids[4], to: 5)
    queue.release(ids[1])
    queue.move(ids[1], to: 60)
    queue.move(ids[3], to: 30)
    queue.release(ids[0])
    queue.add(ids[0], host: "h0", priority: .userInteractive, rank: 0)
    queue.add(ids[1], host: "h1")
    // An unknown transfer.
    queue.move(ids[19], to: 3)
    #expect(order(queue) == [4, 2, 3, 0, 5, 1].map { ids[$0] })
  }

  @Test func `A priority can be changed while a transfer is queued, paused or running`() {
    var queue = scheduler { $0.active = 1 }
    for index in 0..<5 { queue.add(ids[index], host: "a") }
    check(queue.next(at: now), is: [ids[0]])
    queue.setPriority(ids[0], .userInteractive)
    check(queue.priority(of: ids[0]), is: .userInteractive)
    #expect(queue.active == 1)
    queue.setPriority(ids[3], .userInteractive)
    queue.release(ids[4])
    queue.setPriority(ids[4], .userInteractive)
    queue.add(ids[4], host: "a")
    queue.setPriority(ids[1], .background)
    queue.release(ids[0])
    queue.add(ids[0], host: "a")
    check(queue.priority(of: ids[5]), is: nil)
    // The lowest has its turn too, and the normal one the rest of its own.
    #expect(order(queue) == [0, 1, 3, 4, 2].map { ids[$0] })
  }

  @Test func `Start now overrides priorities, in the order of calls, within the limits`() {
    var queue = scheduler {
      $0.active = 2
      $0.activePerHost = 1
    }
    queue.add(ids[0], host: "a", priority: .userInteractive)
    queue.add(ids[1], host: "b", priority: .userInteractive)
    queue.add(ids[2], host: "b", priority: .background)
    queue.add(ids[3], host: "a", priority: .background)
    queue.add(ids[4], host: "a", priority: .userInteractive)
    queue.startNow(ids[3])
    queue.startNow(ids[2])
    check(queue.next(at: now), is: [ids[3], ids[2]])
    queue.startNow(ids[4])
    // It runs, so there is nothing to start.
    queue.startNow(ids[3])
    check(queue.next(at: now).isEmpty, is: true)
    #expect(queue.reason(for: ids[4], at: now) == .hostLimit)
    check(queue.finished(ids[2]), is: true)
    // The host of the one to start now is full: others start.
    check(queue.next(at: now), is: [ids[1]])
    check(queue.release(ids[3]), is: true)
    queue.add(ids[3], host: "a")
    check(queue.next(at: now), is: [ids[4]])
    queue.add(ids[5], host: "a", priority: .background, rank: 0)
    queue.finished(ids[0])
    check(queue.finished(ids[4]), is: true)
    // The command held until it started: now it is the second of its priority again.
    check(queue.next(at: now), is: [ids[5]])
  }

  @Test func `Start now of a paused transfer applies when it is queued, and a pause revokes it`() {
    var queue = scheduler { $0.active = 1 }
    for id in ids[0..<3] { queue.add(id, host: "a") }
    queue.release(ids[2])
    queue.startNow(ids[2])
    queue.startNow(ids[1])
    queue.release(ids[1])
    queue.add(ids[1], host: "a")
    queue.add(ids[2], host: "a")
    #expect(order(queue) == [2, 0, 1].map { ids[$0] })
  }

  @Test func `A forced transfer exceeds the limits, and delays others until below them`() {
    var queue = scheduler {
      $0.active = 2
      $0.activePerHost = 1
    }
    for index in 0..<6 { queue.add(ids[index], host: index < 4 ? "a" : "b") }
    check(queue.next(at: now), is: [ids[0], ids[4]])
    queue.force(ids[3])
    queue.force(ids[1])
    #expect(queue.reason(for: ids[3], at: now) == nil)
    check(queue.next(at: now), is: [ids[3], ids[1]])
    #expect(queue.active == 4)
    check(queue.finished(ids[0]), is: true)
    check(queue.finished(ids[4]), is: true)
    check(queue.next(at: now).isEmpty, is: true)
    check(queue.finished(ids[3]), is: true)
    check(queue.next(at: now), is: [ids[5]])
    check(queue.finished(ids[1]), is: true)
    check(queue.next(at: now), is: [ids[2]])
  }

  @Test func `A forced transfer waits for its host's pause and for a connection`() {
    var queue = scheduler {
      $0.active = 2
      $0.connections = 3
    }
    for index in 0..<3 { queue.add(ids[index], host: index == 0 ? "a" : "b") }
    queue.pauseHost("b", until: Instant(.seconds(9)))
    check(queue.next(at: now), is: [ids[0]])
    queue.force(ids[1])
    queue.force(ids[2])
    #expect(queue.reason(for: ids[1], at: now) == .hostBackOff(until: 9))
    check(queue.next(at: now).isEmpty, is: true)
    for _ in 0..<2 { check(queue.grantConnection(for: ids[0]), is: true) }
    check(queue.next(at: Instant(.seconds(9))), is: [ids[1]])
    #expect(queue.reason(for: ids[2], at: Instant(.seconds(9))) == .slot)
    // It waits only for a connection, and comes before an additional one of another transfer.
    queue.releaseConnection(for: ids[0])
    check(queue.grantConnection(for: ids[0]), is: false)
    check(queue.next(at: Instant(.seconds(9))), is: [ids[2]])
  }

  @Test func `A suspended queue starts only forced transfers, and running ones continue`() {
    var queue = scheduler { $0.active = 2 }
    for id in ids[0..<4] { queue.add(id, host: "a") }
    check(queue.next(at: now), is: [ids[0], ids[1]])
    check(queue.grantConnection(for: ids[0]), is: true)
    queue.isSuspended = true
    check(queue.finished(ids[1]), is: true)
    queue.startNow(ids[3])
    check(queue.next(at: now).isEmpty, is: true)
    #expect(queue.reason(for: ids[3], at: now) == .suspended)
    #expect(queue.reason(for: ids[0], at: now) == nil)
    // No transfer is about to start: the running ones get the connections.
    check(queue.grantConnection(for: ids[0]), is: true)
    queue.force(ids[2])
    #expect(queue.reason(for: ids[2], at: now) == nil)
    check(queue.next(at: now), is: [ids[2]])
    queue.isSuspended = false
    check(queue.next(at: now).isEmpty, is: true)
    check(queue.finished(ids[0]), is: true)
    check(queue.next(at: now), is: [ids[3]])
  }
}
