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

  /// The order in which everything starts, one at a time.
  private func order(_ queue: Scheduler) -> [TransferID] {
    var queue = queue
    var order: [TransferID] = []
    while case let started = queue.next(at: now), !started.isEmpty {
      order += started
      for id in started { queue.finished(id) }
    }
    return order
  }

  @Test func `Ranks order a priority; equal ones and those without go as they came`() {
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

  @Test func `A move counts while it is queued, paused or running, and over a pause`() {
    var queue = scheduler { $0.active = 1 }
    for index in 0..<6 { queue.add(ids[index], host: "h\(index % 2)", rank: Int64(index) * 10) }
    check(queue.next(at: now), is: [ids[0]])
    queue.move(ids[0], to: 45)
    #expect(queue.active == 1)
    queue.move(ids[4], to: 5)
    queue.paused(ids[1])
    queue.move(ids[1], to: 60)
    queue.move(ids[3], to: 30)
    queue.paused(ids[0])
    queue.add(ids[0], host: "h0", priority: .userInteractive, rank: 0)
    queue.add(ids[1], host: "h1")
    // Nobody knows it.
    queue.move(ids[19], to: 3)
    #expect(order(queue) == [4, 2, 3, 0, 5, 1].map { ids[$0] })
  }

  @Test func `A priority can be changed while it is queued, paused or running`() {
    var queue = scheduler { $0.active = 1 }
    for index in 0..<5 { queue.add(ids[index], host: "a") }
    check(queue.next(at: now), is: [ids[0]])
    queue.setPriority(ids[0], .userInteractive)
    check(queue.priority(of: ids[0]), is: .userInteractive)
    #expect(queue.active == 1)
    queue.setPriority(ids[3], .userInteractive)
    queue.paused(ids[4])
    queue.setPriority(ids[4], .userInteractive)
    queue.add(ids[4], host: "a")
    queue.setPriority(ids[1], .background)
    queue.paused(ids[0])
    queue.add(ids[0], host: "a")
    check(queue.priority(of: ids[5]), is: nil)
    // The lowest has its turn too, and the normal one what is left of its own.
    #expect(order(queue) == [0, 1, 3, 4, 2].map { ids[$0] })
  }

  @Test func `Start now goes before every priority, in the order of calls, within the limits`() {
    var queue = scheduler {
      $0.active = 2
      $0.activePerHost = 1
    }
    queue.add(ids[0], host: "a", priority: .userInteractive)
    queue.add(ids[1], host: "b", priority: .userInteractive)
    queue.add(ids[2], host: "b", priority: .background)
    queue.add(ids[3], host: "a", priority: .background)
    queue.add(ids[4], host: "a", priority: .userInteractive)
    queue.starts(ids[3])
    queue.starts(ids[2])
    check(queue.next(at: now), is: [ids[3], ids[2]])
    queue.starts(ids[4])
    // It runs: nothing to start.
    queue.starts(ids[3])
    check(queue.next(at: now).isEmpty, is: true)
    #expect(queue.reason(for: ids[4], at: now) == .hostLimit)
    check(queue.finished(ids[2]), is: true)
    // The host of the one that is to start now is full: others go on.
    check(queue.next(at: now), is: [ids[1]])
    check(queue.paused(ids[3]), is: true)
    queue.add(ids[3], host: "a")
    check(queue.next(at: now), is: [ids[4]])
    queue.add(ids[5], host: "a", priority: .background, rank: 0)
    queue.finished(ids[0])
    check(queue.finished(ids[4]), is: true)
    // The word held until it had started: now it is the second of its priority again.
    check(queue.next(at: now), is: [ids[5]])
  }

  @Test func `Start now of a paused one holds when it is queued, and a pause takes it back`() {
    var queue = scheduler { $0.active = 1 }
    for id in ids[0..<3] { queue.add(id, host: "a") }
    queue.paused(ids[2])
    queue.starts(ids[2])
    queue.starts(ids[1])
    queue.paused(ids[1])
    queue.add(ids[1], host: "a")
    queue.add(ids[2], host: "a")
    #expect(order(queue) == [2, 0, 1].map { ids[$0] })
  }

  @Test func `A forced one exceeds the limits, is counted, and holds up others until below`() {
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

  @Test func `A forced one waits for its host's pause and for a connection`() {
    var queue = scheduler {
      $0.active = 2
      $0.connections = 3
    }
    for index in 0..<3 { queue.add(ids[index], host: index == 0 ? "a" : "b") }
    queue.backOff("b", until: Instant(.seconds(9)))
    check(queue.next(at: now), is: [ids[0]])
    queue.force(ids[1])
    queue.force(ids[2])
    #expect(queue.reason(for: ids[1], at: now) == .hostBackOff(until: 9))
    check(queue.next(at: now).isEmpty, is: true)
    for _ in 0..<2 { check(queue.grantConnection(for: ids[0]), is: true) }
    check(queue.next(at: Instant(.seconds(9))), is: [ids[1]])
    #expect(queue.reason(for: ids[2], at: Instant(.seconds(9))) == .slot)
    // It waits for a connection only, and goes before a further one for another.
    queue.releaseConnection(for: ids[0])
    check(queue.grantConnection(for: ids[0]), is: false)
    check(queue.next(at: Instant(.seconds(9))), is: [ids[2]])
  }

  @Test func `A suspended queue starts nothing that is not forced, and what runs, runs on`() {
    var queue = scheduler { $0.active = 2 }
    for id in ids[0..<4] { queue.add(id, host: "a") }
    check(queue.next(at: now), is: [ids[0], ids[1]])
    check(queue.grantConnection(for: ids[0]), is: true)
    queue.isSuspended = true
    check(queue.finished(ids[1]), is: true)
    queue.starts(ids[3])
    check(queue.next(at: now).isEmpty, is: true)
    #expect(queue.reason(for: ids[3], at: now) == .suspended)
    #expect(queue.reason(for: ids[0], at: now) == nil)
    // Nobody is about to start: the connections are for those that run.
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
