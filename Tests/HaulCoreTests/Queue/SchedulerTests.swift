import HaulCore
import Testing

@Suite struct SchedulerTests {
  private let ids: [TransferID]

  init() {
    var generator = SplitMix64(seed: 7)
    ids = (0..<40).map { _ in TransferID(using: &generator) }
  }

  private func at(_ seconds: Int) -> Instant { Instant(.seconds(seconds)) }

  private func scheduler(_ change: (inout Scheduler.Limits) -> Void = { _ in }) -> Scheduler {
    var limits = Scheduler.Limits()
    change(&limits)
    return Scheduler(limits)
  }

  @Test func `Transfers start in order of adding, up to the limits of host and slots`() {
    var queue = scheduler()
    for index in 0..<12 { queue.add(ids[index], host: index < 6 ? "a" : "b") }
    check(queue.next(at: at(0)), is: Array(ids[0..<4] + ids[6..<10]))
    check(queue.next(at: at(0)).isEmpty, is: true)
    #expect(queue.reason(for: ids[4], at: at(0)) == .hostLimit)
    queue.add(ids[20], host: "c")
    check(queue.next(at: at(0)).isEmpty, is: true)
    #expect(queue.reason(for: ids[20], at: at(0)) == .slot)
    queue.finished(ids[7])
    check(queue.next(at: at(0)), is: [ids[10]])
    queue.finished(ids[0])
    check(queue.next(at: at(0)), is: [ids[4]])
    #expect(queue.reason(for: ids[4], at: at(0)) == nil)
  }

  @Test func `A host with a limit of its own has that one, also after it was forgotten`() {
    var queue = scheduler { $0.activePerHost = 2 }
    queue.limitHosts(["a": 1, "b": 3])
    for index in 0..<12 { queue.add(ids[index], host: ["a", "b", "c"][index % 3]) }
    check(queue.next(at: at(0)), is: [ids[0], ids[1], ids[2], ids[4], ids[5], ids[7]])
    #expect(queue.reason(for: ids[3], at: at(0)) == .hostLimit)
    for id in ids[0..<12] { queue.finished(id) }
    for index in 12..<15 { queue.add(ids[index], host: "a") }
    check(queue.next(at: at(0)), is: [ids[12]])
  }

  @Test func `A slot is freed once`() {
    var queue = scheduler { $0.active = 1 }
    for id in ids[0..<3] { queue.add(id, host: "a") }
    check(queue.next(at: at(0)), is: [ids[0]])
    check(queue.release(ids[0]), is: true)
    check(queue.release(ids[0]), is: false)
    check(queue.finished(ids[0]), is: false)
    check(queue.finished(ids[0]), is: false)
    #expect(queue.active == 0)
    check(queue.next(at: at(0)), is: [ids[1]])
    check(queue.next(at: at(0)).isEmpty, is: true)
  }

  @Test func `A transfer that waits for the disk frees its slot and connection`() {
    var queue = scheduler { $0.active = 2 }
    for id in ids[0..<3] { queue.add(id, host: "a") }
    check(queue.yieldSlotForDisk(ids[0]), is: false)
    check(queue.next(at: at(0)), is: [ids[0], ids[1]])
    check(queue.grantConnection(for: ids[0]), is: true)
    check(queue.yieldSlotForDisk(ids[0]), is: true)
    check(queue.yieldSlotForDisk(ids[0]), is: false)
    #expect(queue.active == 1)
    #expect(queue.connections == 0)
    check(queue.grantConnection(for: ids[0]), is: false)
    check(queue.next(at: at(0)), is: [ids[2]])
    check(queue.finished(ids[0]), is: false)
    #expect(queue.waitingForDisk == 0)
    #expect(queue.active == 2)
    check(queue.next(at: at(0)).isEmpty, is: true)
  }

  @Test func `With a limit of one, a transfer keeps its slot until its end`() {
    var queue = scheduler { $0.active = 1 }
    for id in ids[0..<2] { queue.add(id, host: "a") }
    check(queue.next(at: at(0)), is: [ids[0]])
    check(queue.yieldSlotForDisk(ids[0]), is: false)
    check(queue.next(at: at(0)).isEmpty, is: true)
    check(queue.finished(ids[0]), is: true)
    check(queue.next(at: at(0)), is: [ids[1]])
  }

  @Test func `At most 128 transfers wait for the disk without a slot`() {
    var generator = SplitMix64(seed: 8)
    var queue = scheduler { $0.active = 2 }
    let many = (0..<131).map { _ in TransferID(using: &generator) }
    for id in many { queue.add(id, host: "a") }
    check(queue.next(at: at(0)), is: [many[0], many[1]])
    for number in 0..<128 {
      check(queue.yieldSlotForDisk(many[number]), is: true)
      check(queue.next(at: at(0)), is: [many[number + 2]])
    }
    check(queue.yieldSlotForDisk(many[128]), is: false)
    #expect(queue.active == 2)
    queue.finished(many[0])
    check(queue.yieldSlotForDisk(many[128]), is: true)
    check(queue.next(at: at(0)), is: [many[130]])
  }

  @Test func `A resumed transfer has its old position`() {
    var queue = scheduler { $0.active = 1 }
    for id in ids[0..<3] { queue.add(id, host: "a") }
    check(queue.next(at: at(0)), is: [ids[0]])
    queue.release(ids[1])
    queue.release(ids[0])
    queue.add(ids[1], host: "a")
    queue.add(ids[0], host: "a")
    check(queue.next(at: at(0)), is: [ids[0]])
    queue.finished(ids[0])
    check(queue.next(at: at(0)), is: [ids[1]])
    queue.add(ids[1], host: "a")
    check(queue.next(at: at(0)).isEmpty, is: true)
  }

  @Test func `A pause of one host does not delay other hosts`() {
    var queue = scheduler()
    queue.add(ids[0], host: "a")
    queue.add(ids[1], host: "b")
    queue.pauseHost("a", until: at(10))
    queue.pauseHost("a", until: at(5))
    check(queue.next(at: at(0)), is: [ids[1]])
    #expect(queue.reason(for: ids[0], at: at(0)) == .hostBackOff(until: 10))
    queue.add(ids[2], host: "a")
    check(queue.firstQueued(atHostOf: ids[2]), is: ids[0])
    check(queue.firstQueued(atHostOf: ids[1]), is: nil)
    queue.finished(ids[2])
    check(queue.nextWakeUp(), is: at(10))
    check(queue.next(at: at(9)).isEmpty, is: true)
    check(queue.next(at: at(10)), is: [ids[0]])
    check(queue.nextWakeUp(), is: nil)
  }

  @Test func `A longer pause of a host replaces a shorter one`() {
    var queue = scheduler()
    queue.add(ids[0], host: "a")
    queue.pauseHost("a", until: at(5))
    queue.pauseHost("a", until: at(10))
    check(queue.nextWakeUp(), is: at(10))
    check(queue.next(at: at(7)).isEmpty, is: true)
    check(queue.next(at: at(11)), is: [ids[0]])
  }

  @Test func `A paused host gets no new connections and keeps the existing ones`() {
    var queue = scheduler()
    queue.add(ids[0], host: "a")
    _ = queue.next(at: at(0))
    check(queue.grantConnection(for: ids[0]), is: true)
    queue.pauseHost("a", until: at(5))
    check(queue.grantConnection(for: ids[0]), is: false)
    #expect(queue.connections(of: ids[0]) == 1)
    _ = queue.next(at: at(5))
    check(queue.grantConnection(for: ids[0]), is: true)
  }

  @Test func `Raising a limit starts more transfers, and lowering it stops none`() {
    var queue = scheduler { $0.active = 2 }
    for id in ids[0..<6] { queue.add(id, host: "a") }
    check(queue.next(at: at(0)).count, is: 2)
    var limits = queue.limits
    limits.active = 4
    queue.setLimits(limits)
    check(queue.next(at: at(0)), is: [ids[2], ids[3]])
    limits.activePerHost = 1
    queue.setLimits(limits)
    #expect(queue.active == 4)
    for id in ids[0..<3] {
      queue.finished(id)
      check(queue.next(at: at(0)).isEmpty, is: true)
    }
    queue.finished(ids[3])
    check(queue.next(at: at(0)), is: [ids[4]])
    queue.finished(ids[4])
    limits.active = -1
    queue.setLimits(limits)
    #expect(queue.limits.active == 0)
    check(queue.next(at: at(0)).isEmpty, is: true)
    limits.active = 1
    queue.setLimits(limits)
    check(queue.next(at: at(0)), is: [ids[5]])
  }

  @Test func `Connections stay within the limits of transfer, host and manager`() {
    var queue = scheduler {
      $0.connectionsPerTransfer = 3
      $0.connectionsPerHost = 5
      $0.connections = 7
    }
    queue.add(ids[0], host: "a")
    queue.add(ids[1], host: "a")
    queue.add(ids[2], host: "b")
    check(queue.next(at: at(0)).count, is: 3)
    func grants(_ id: TransferID) -> Int { (0..<9).count { _ in queue.grantConnection(for: id) } }
    #expect(grants(ids[0]) == 3)
    #expect(grants(ids[1]) == 2)
    #expect(grants(ids[2]) == 2)
    queue.releaseConnection(for: ids[0])
    #expect(grants(ids[2]) == 1)
    check(queue.finished(ids[1]), is: true)
    check(queue.releaseConnection(for: ids[1]), is: false)
    #expect(queue.connections == 5)
    #expect(grants(ids[1]) == 0)
  }

  @Test func `Each started transfer has a connection reserved`() {
    var queue = scheduler { $0.connections = 4 }
    for index in 0..<3 { queue.add(ids[index], host: "h\(index)") }
    check(queue.next(at: at(0)).count, is: 3)
    #expect((0..<9).count { _ in queue.grantConnection(for: ids[0]) } == 2)
    check(queue.grantConnection(for: ids[1]), is: true)
    check(queue.grantConnection(for: ids[2]), is: true)
    #expect(queue.connections == 4)
  }

  @Test func `A transfer without a connection goes before an additional connection of another`() {
    var queue = scheduler { $0.connectionsPerHost = 2 }
    queue.add(ids[0], host: "a")
    _ = queue.next(at: at(0))
    check(queue.grantConnection(for: ids[0]), is: true)
    check(queue.grantConnection(for: ids[0]), is: true)
    queue.add(ids[1], host: "a")
    check(queue.next(at: at(0)).isEmpty, is: true)
    #expect(queue.reason(for: ids[1], at: at(0)) == .hostLimit)
    queue.releaseConnection(for: ids[0])
    check(queue.grantConnection(for: ids[0]), is: false)
    check(queue.next(at: at(0)), is: [ids[1]])
    check(queue.grantConnection(for: ids[1]), is: true)
  }

  @Test func `The chosen number of connections is kept per host until it is reset`() {
    var queue = scheduler()
    queue.add(ids[0], host: "a")
    _ = queue.next(at: at(0))
    queue.noteChosenConnections(3, of: "a")
    queue.finished(ids[0])
    check(queue.chosenConnections(of: "a"), is: 3)
    check(queue.chosenConnections(of: "b"), is: nil)
    queue.noteChosenConnections(nil, of: "a")
    check(queue.chosenConnections(of: "a"), is: nil)
  }

  @Test func `A learned limit does not rise, and applies to later transfers`() {
    var queue = scheduler()
    queue.add(ids[0], host: "a")
    _ = queue.next(at: at(0))
    for _ in 0..<3 { check(queue.grantConnection(for: ids[0]), is: true) }
    queue.lowerLimit("a", to: 2, at: at(0))
    queue.lowerLimit("a", to: 9, at: at(0))
    #expect(queue.connections(of: ids[0]) == 3)
    queue.releaseConnection(for: ids[0])
    check(queue.grantConnection(for: ids[0]), is: false)
    queue.releaseConnection(for: ids[0])
    check(queue.grantConnection(for: ids[0]), is: true)
    queue.finished(ids[0])
    queue.lowerLimit("a", to: 0, at: at(0))
    queue.add(ids[1], host: "a")
    queue.add(ids[2], host: "a")
    check(queue.next(at: at(0)), is: [ids[1]])
  }

  @Test func `A learned limit is forgotten ten minutes after the last refusal`() {
    var queue = scheduler()
    for id in ids[0...2] { queue.add(id, host: "a") }
    queue.lowerLimit("a", to: 1, at: at(0))
    check(queue.next(at: at(0)), is: [ids[0]])
    check(queue.grantConnection(for: ids[0]), is: true)
    // A higher number does not raise it, but shows that the server still refuses.
    queue.lowerLimit("a", to: 2, at: at(300))
    check(queue.nextWakeUp(), is: at(900))
    check(queue.next(at: at(899)).isEmpty, is: true)
    #expect(queue.reason(for: ids[1], at: at(899)) == .hostRefusal(until: 1))
    check(queue.mayStart(at: at(900)), is: true)
    check(queue.next(at: at(900)), is: [ids[1], ids[2]])
    check(queue.nextWakeUp(), is: nil)
    // The server has another limit now.
    check(queue.grantConnection(for: ids[1]), is: true)
    let busy = TransferError(.httpStatus, "the server answered 503", status: 503)
    #expect(queue.connectionRefused(for: ids[1], at: at(901), busy) == 1)
    #expect(queue.refusal(for: ids[2]) == busy)
    _ = queue.next(at: at(1501))
    #expect(queue.refusal(for: ids[2]) == nil)
  }
}
