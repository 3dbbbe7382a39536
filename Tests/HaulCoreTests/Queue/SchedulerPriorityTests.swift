import HaulCore
import Testing

@Suite struct SchedulerPriorityTests {
  private var generator = SplitMix64(seed: 11)
  private let now = Instant()

  /// Members of every priority; each start ends the one that has run longest.
  private struct PriorityScenario {
    var queue: Scheduler
    var priorities: [TransferID: TransferRequest.Priority] = [:]
    var running: [TransferID] = []

    init(slots: Int) {
      var limits = Scheduler.Limits()
      limits.active = slots
      queue = Scheduler(limits)
    }

    mutating func add(
      _ count: Int, _ priority: TransferRequest.Priority, host: (Int) -> String?,
      using generator: inout SplitMix64
    ) {
      for index in 0..<count {
        let id = TransferID(using: &generator)
        priorities[id] = priority
        queue.add(id, host: host(index), priority: priority)
      }
    }

    /// The priorities of the next starts, in order.
    mutating func starts(_ count: Int) -> [TransferRequest.Priority] {
      var started: [TransferRequest.Priority] = []
      while started.count < count {
        let ids = queue.next(at: Instant())
        started += ids.compactMap { priorities[$0] }
        running += ids
        guard !running.isEmpty else { return started }
        queue.finished(running.removeFirst())
      }
      return Array(started.prefix(count))
    }
  }

  private func count(
    _ priority: TransferRequest.Priority, in starts: some Sequence<TransferRequest.Priority>
  ) -> Int {
    starts.count { $0 == priority }
  }

  enum Hosts: CaseIterable, Sendable {
    case one, many, none

    func name(_ index: Int) -> String? {
      switch self {
      case .one: "a"
      case .many: "h\(index % 37)"
      case .none: nil
      }
    }
  }

  @Test(arguments: Hosts.allCases)
  func `Slots are shared 16:8:4:2:1, and the lowest always advances`(hosts: Hosts) {
    var generator = SplitMix64(seed: 11)
    var contest = PriorityScenario(slots: 4)
    for priority in TransferRequest.Priority.allCases {
      contest.add(200, priority, host: hosts.name, using: &generator)
    }
    let starts = contest.starts(310)
    for priority in TransferRequest.Priority.allCases {
      let wanted = 10 * priority.weight
      #expect((wanted - 1...wanted + 1).contains(count(priority, in: starts)), "\(priority)")
    }
    for start in stride(from: 0, to: 310, by: 31) {
      #expect(count(.background, in: starts[start..<(start + 31)]) == 1)
    }
    #expect(contest.starts(1000).count == 1000 - 310)
  }

  @Test mutating func `An idle priority saves up no turns, and is served at once`() {
    var contest = PriorityScenario(slots: 1)
    contest.add(300, .background, host: { _ in "a" }, using: &generator)
    #expect(count(.background, in: contest.starts(100)) == 100)
    contest.add(200, .userInteractive, host: { _ in "b" }, using: &generator)
    let starts = contest.starts(34)
    #expect(starts.first == .userInteractive)
    #expect((31...33).contains(count(.userInteractive, in: starts)))
    #expect(count(.background, in: starts) >= 1)
  }

  @Test mutating func `Transfers added one at a time get no more than their share`() {
    var contest = PriorityScenario(slots: 1)
    contest.add(400, .userInitiated, host: { _ in "a" }, using: &generator)
    var starts: [TransferRequest.Priority] = []
    for _ in 0..<90 {
      // At most one of them is queued at any time.
      if count(.default, in: starts) == contest.priorities.count - 400 {
        contest.add(1, .default, host: { _ in "b" }, using: &generator)
      }
      starts += contest.starts(1)
    }
    #expect((29...31).contains(count(.default, in: starts)))
  }

  @Test mutating func `A priority whose hosts are all paused is skipped without losing turns`() {
    var contest = PriorityScenario(slots: 1)
    contest.add(200, .userInteractive, host: { _ in "a" }, using: &generator)
    contest.add(200, .default, host: { _ in "b" }, using: &generator)
    contest.queue.pauseHost("a", until: Instant(.seconds(10)))
    #expect(count(.default, in: contest.starts(50)) == 50)
    // It has the first turn after the pause.
    let first = contest.queue.next(at: Instant(.seconds(10)))
    #expect(first.map { contest.priorities[$0] } == [.userInteractive])
    contest.running += first
    let starts = contest.starts(50)
    #expect((39...41).contains(count(.userInteractive, in: starts)))
  }

  @Test mutating func `A full host does not delay other hosts of the same priority`() {
    var limits = Scheduler.Limits()
    limits.active = 3
    limits.activePerHost = 1
    var queue = Scheduler(limits)
    let ids = (0..<5).map { _ in TransferID(using: &generator) }
    queue.add(ids[0], host: "a", priority: .userInitiated)
    queue.add(ids[1], host: "a", priority: .userInitiated)
    queue.add(ids[2], host: "b", priority: .userInitiated)
    queue.add(ids[3], host: "a", priority: .default)
    queue.add(ids[4], host: "c", priority: .default)
    check(queue.next(at: now), is: [ids[0], ids[4], ids[2]])
    #expect(queue.reason(for: ids[1], at: now) == .hostLimit)
  }

  @Test mutating func `A local step needs a slot, but no host slot and no connection`() {
    var limits = Scheduler.Limits()
    limits.active = 5
    limits.activePerHost = 1
    limits.connections = 1
    var queue = Scheduler(limits)
    let ids = (0..<7).map { _ in TransferID(using: &generator) }
    queue.add(ids[0], host: "a")
    for id in ids[1...5] { queue.add(id, host: nil) }
    queue.add(ids[6], host: "b")
    check(queue.next(at: now), is: Array(ids[0...4]))
    check(queue.grantConnection(for: ids[1]), is: false)
    check(queue.grantConnection(for: ids[0]), is: true)
    #expect(queue.reason(for: ids[5], at: now) == .slot)
    check(queue.finished(ids[2]), is: true)
    // Its slot is free; that of the other host has no connection.
    check(queue.next(at: now), is: [ids[5]])
    check(queue.release(ids[3]), is: true)
    check(queue.next(at: now).isEmpty, is: true)
    #expect(queue.reason(for: ids[6], at: now) == .slot)
    #expect(queue.connections == 1)
    check(queue.finished(ids[0]), is: true)
    check(queue.next(at: now), is: [ids[6]])
  }
}
