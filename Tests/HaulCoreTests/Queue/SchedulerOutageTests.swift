import HaulCore
import Testing

/// A host that does not answer: one transfer at a time asks it, the others wait.
@Suite struct SchedulerOutageTests {
  private let ids: [TransferID]
  private var queue: Scheduler

  init() {
    var generator = SplitMix64(seed: 14)
    ids = (0..<6).map { _ in TransferID(using: &generator) }
    var limits = Scheduler.Limits()
    limits.activePerHost = 3
    queue = Scheduler(limits)
    for id in ids[0..<5] { queue.add(id, host: "a") }
    queue.add(ids[5], host: "b")
  }

  private func at(_ seconds: Double) -> Instant { Instant(.seconds(seconds)) }

  /// A failed attempt, whose transfer returns to its position.
  private mutating func fails(_ id: TransferID, at second: Double, nextTrial: Double?) {
    queue.hostFailed(for: id, at: at(second), nextTrial: nextTrial.map(at))
    queue.release(id)
    queue.add(id, host: "a")
  }

  /// Three run, the first is refused, and the two others fail in the same way.
  private mutating func begin() {
    check(queue.next(at: at(0)), is: [ids[0], ids[1], ids[2], ids[5]])
    fails(ids[0], at: 1, nextTrial: 2)
    for id in ids[1...2] {
      #expect(queue.hostHealth(for: id).isTrialOfAnotherTransfer)
      queue.release(id)
      queue.add(id, host: "a")
    }
  }

  @Test mutating func `Transfers of a silent host retry in turns, not before the time`() {
    begin()
    check(queue.next(at: at(1)).isEmpty, is: true)
    check(queue.nextWakeUp(), is: at(2))
    #expect(queue.reason(for: ids[3], at: at(1)) == .hostOutage(until: 1))
    check(queue.next(at: at(2)), is: [ids[1]])
    #expect(!queue.hostHealth(for: ids[1]).isTrialOfAnotherTransfer)
    #expect(queue.reason(for: ids[3], at: at(2)) == .hostOutage(until: nil))
    fails(ids[1], at: 2, nextTrial: 4)
    #expect(queue.hostHealth(for: ids[0]).failures == 2)
    #expect(queue.hostHealth(for: ids[0]).since == at(1))
    check(queue.next(at: at(4)), is: [ids[2]])
    fails(ids[2], at: 4, nextTrial: 5)
    check(queue.next(at: at(5)), is: [ids[3]])
    fails(ids[3], at: 5, nextTrial: 6)
    check(queue.next(at: at(6)), is: [ids[4]])
    fails(ids[4], at: 6, nextTrial: 7)
    check(queue.next(at: at(7)), is: [ids[0]])
  }

  @Test mutating func `The begin of an outage is noted once, and so is its end`() {
    begin()
    check(queue.next(at: at(2)), is: [ids[1]])
    fails(ids[1], at: 2, nextTrial: 4)
    #expect(queue.takeNotes() == [.outage(host: "a", transfers: 5, next: .seconds(1))])
    check(queue.next(at: at(4)), is: [ids[2]])
    check(queue.hostAnswered(for: ids[2], at: at(4)), is: true)
    #expect(queue.takeNotes() == [.answered(host: "a", after: .seconds(3))])
    check(queue.hostAnswered(for: ids[2], at: at(5)), is: false)
    #expect(queue.takeNotes().isEmpty)
    #expect(
      QueueNote.outage(host: "a", transfers: 5, next: .milliseconds(300)).text
        == "a does not answer: 5 transfers wait for it; next attempt in 1 s")
    #expect(QueueNote.answered(host: "a", after: .seconds(3)).text == "a answers again, after 3 s")
  }

  @Test mutating func `An answer of the host releases all transfers in their order`() {
    begin()
    check(queue.next(at: at(2)), is: [ids[1]])
    check(queue.hostAnswered(for: ids[1], at: at(1)), is: true)
    check(queue.hostAnswered(for: ids[1], at: at(1)), is: false)
    check(queue.next(at: at(2)), is: [ids[0], ids[2]])
    check(queue.nextWakeUp(), is: nil)
    #expect(queue.hostHealth(for: ids[0]) == queue.hostHealth(for: ids[1]))
    #expect(queue.hostHealth(for: ids[0]).hasAnswered)
    #expect(queue.hostHealth(for: ids[0]).failures == 0)
  }

  @Test mutating func `A transfer that is paused or removed during its retry passes the turn on`() {
    begin()
    check(queue.next(at: at(2)), is: [ids[1]])
    queue.release(ids[1])
    check(queue.next(at: at(2)), is: [ids[2]])
    queue.finished(ids[2])
    check(queue.next(at: at(2)), is: [ids[3]])
  }

  @Test mutating func `Other hosts and steps are not delayed`() {
    begin()
    check(queue.hostHealth(for: ids[5]).failures, is: 0)
    queue.release(ids[5])
    queue.add(ids[5], host: "b")
    check(queue.next(at: at(1)), is: [ids[5]])
  }

  @Test mutating func `If a person waits, all transfers try a host that was given up`() {
    begin()
    check(queue.next(at: at(2)), is: [ids[1]])
    fails(ids[1], at: 2, nextTrial: nil)
    check(queue.next(at: at(2)), is: [ids[2], ids[3], ids[4]])
    #expect(!queue.hostHealth(for: ids[2]).isTrialOfAnotherTransfer)
    #expect(queue.hostHealth(for: ids[2]).failures == 2)
  }

  @Test mutating func `A pause that the host asked for still applies during its outage`() {
    begin()
    queue.pauseHost("a", until: at(9))
    check(queue.nextWakeUp(), is: at(2))
    check(queue.next(at: at(2)).isEmpty, is: true)
    check(queue.nextWakeUp(), is: at(9))
    check(queue.next(at: at(9)), is: [ids[1]])
  }

  @Test mutating func `The outage ends when the host has no transfers left`() {
    begin()
    for id in ids[0...4] { queue.finished(id) }
    queue.add(ids[0], host: "a")
    #expect(queue.hostHealth(for: ids[0]) == HostHealth())
    check(queue.next(at: at(1)), is: [ids[0]])
  }

  @Test(arguments: [true, false])
  mutating func `A started transfer retries at once, and the others follow`(isForced: Bool) {
    begin()
    isForced ? queue.force(ids[3]) : queue.startNow(ids[3])
    check(queue.next(at: at(1)), is: [ids[3]])
    #expect(queue.reason(for: ids[1], at: at(1)) == .hostOutage(until: nil))
    fails(ids[3], at: 1, nextTrial: 4)
    check(queue.next(at: at(2)).isEmpty, is: true)
    check(queue.next(at: at(4)), is: [ids[1]])
  }

  @Test mutating func `A retry of a started transfer takes its turn on a silent host`() {
    begin()
    queue.startNow(ids[3])
    check(queue.next(at: at(1)), is: [ids[3]])
    queue.hostFailed(for: ids[3], at: at(1), nextTrial: at(4))
    queue.release(ids[3])
    var member = QueuedMember(TransferRecord(id: ids[3], request: .step("s")))
    member.host = "a"
    member.storedState.startRequest = StartRequest(number: 1, isForced: false)
    queue.add(member)
    check(queue.next(at: at(2)).isEmpty, is: true)
    check(queue.next(at: at(4)), is: [ids[1]])
  }

  @Test mutating func `A second start retries once more`() {
    begin()
    queue.startNow(ids[3])
    // Another one made a request before it had a slot, without an answer.
    fails(ids[1], at: 1, nextTrial: 9)
    check(queue.next(at: at(2)).isEmpty, is: true)
    queue.startNow(ids[3])
    check(queue.next(at: at(2)), is: [ids[3]])
  }
}
