import HaulControl
import HaulCore
import HaulDaemon
import HaulKit
import Testing

/// What a channel tells.
@Suite struct NoticeOutboxTests {
  @Test func `an end is reported, and its number is stored after the delivery`() {
    var world = OutboxWorld()
    #expect(world.handle(.started) == [.read])
    let commands = world.read(Ends.other(11, .added(target: nil)), Ends.event(12))
    #expect(commands.delivered.map(\.id) == ["ABCDEFGH-12"])
    #expect(commands.stored == [])
    #expect(world.handle(.delivered) == [.store(12), .read])
  }

  @Test func `state changes that are no ends are passed by, and move the stored number seldom`() {
    var world = OutboxWorld()
    #expect(world.read(Ends.other(11, .paused(by: .user))) == [.read])
    #expect(world.read(Ends.other(1009, .moved)) == [.read])
    #expect(world.read(Ends.other(1010, .moved)) == [.store(1010), .read])
    #expect(world.read(Ends.other(1011, .moved)) == [.read])
    #expect(world.handle(.ended) == [.store(1011), .stop])
  }

  @Test
  func `a long wait is reported with failures, and its number is that of the change before it`() {
    var world = OutboxWorld(.failures)
    let full = WaitReason.diskFull(.init(device: 1, directory: "/d", needed: 2, free: 1))
    let commands = world.read(Ends.event(11), Ends.wait(full), Ends.wait(full))
    #expect(commands.delivered.map(\.kind) == [.waiting])
    #expect(commands.delivered.map(\.number) == [11])
    #expect(world.handle(.delivered) == [.store(11), .read])
  }

  @Test func `a failed delivery is repeated with the same id after a growing delay`() throws {
    var world = OutboxWorld()
    let first = try #require(world.read(Ends.event(11), Ends.event(12)).delivered.first)
    var delays: [Duration] = []
    for _ in 1...8 {
      let commands = world.handle(.failed(.init("no")))
      let until = try #require(commands.waits.first)
      delays.append(until - world.now)
      world.now = until
      #expect(commands.stored == [])
      #expect(world.handle(.waited) == [.deliver(first)])
    }
    #expect(delays == [0.5, 1, 2, 4, 8, 16, 32, 60].map { .seconds($0) })
    let last = world.handle(.failed(.init("no")))
    #expect(last.logged == ["the notice \(first.id) was given up after 9 attempts: no"])
    #expect(last.stored == [11])
    #expect(last.delivered.map(\.number) == [12], "the next one is reported")
  }

  @Test
  func `a channel that does not work for days gives up nothing, and writes one line`() throws {
    var world = OutboxWorld()
    let first = try #require(world.read(Ends.event(11)).delivered.first)
    var lines: [String] = []
    for _ in 1...5000 {
      let commands = world.handle(.failed(.init("refused", isTemporary: true)))
      lines += commands.logged
      world.now = try #require(commands.waits.first)
      #expect(world.handle(.waited) == [.deliver(first)])
    }
    #expect(lines == ["attempt 1 failed: refused; retrying"])
    let end = world.handle(.delivered)
    #expect(end.logged == ["works again after 5000 failed attempts"])
    #expect(end.stored == [11])
  }

  @Test func `a server's wait is obeyed`() throws {
    var world = OutboxWorld()
    _ = world.read(Ends.event(11))
    let failure = NoticeOutbox.Failure("busy", isTemporary: true, retryAfter: .seconds(90))
    #expect(world.handle(.failed(failure)).waits == [Instant(.seconds(90))])
  }

  @Test func `a group is reported after its last member, and a crash between them repeats both`() {
    var world = OutboxWorld()
    let end = GroupEnd(name: "g", completed: 2)
    let commands = world.read(Ends.event(11, group: "g", groupEnd: end))
    #expect(commands.delivered.map(\.kind) == [.transfer])
    let next = world.handle(.delivered)
    #expect(next.stored == [])
    #expect(next.delivered.map(\.id) == ["ABCDEFGH-11-group"])
    #expect(world.handle(.delivered) == [.store(11), .read])
  }

  @Test(arguments: NoticeSettings.Level.allCases)
  func `which ends are reported`(level: NoticeSettings.Level) {
    var world = OutboxWorld(level)
    let failed = GroupEnd(name: "g", completed: 1, failed: 1)
    var commands = world.read(
      Ends.event(11), Ends.event(12, .failed), Ends.event(13, .cancelled),
      Ends.event(14, .failed, group: "g"), Ends.event(15, group: "g", groupEnd: failed),
      Ends.event(16, group: "h", groupEnd: GroupEnd(name: "h", completed: 1)),
      Ends.other(17, .finished(TransferResult(state: .completed).notingUnchanged())))
    var reported: [String] = []
    while let notice = commands.delivered.first {
      reported.append("\(notice.number)\(notice.kind == .group ? "g" : "")")
      commands = world.handle(.delivered)
    }
    let expected: [NoticeSettings.Level: [String]] = [
      .all: ["11", "12", "13", "14", "15", "15g", "16", "16g", "17"],
      .failures: ["12", "14", "15g"], .groups: ["11", "12", "13", "15g", "16g"], .none: [],
    ]
    #expect(reported == expected[level])
  }

  @Test(arguments: NoticeSettings.Level.allCases)
  func `a list that failed is reported, unless nothing is`(level: NoticeSettings.Level) {
    var world = OutboxWorld(level)
    #expect(world.handle(.started) == [.read])
    let notice = Notice.failed(list: "l", path: "/w/failed/l", reason: "line 1: no", time: 7)
    #expect(world.handle(.found(notice)) == [level == .none ? .read : .deliver(notice)])
    #expect((notice.title, notice.text) == ("list l: failed", "line 1: no"))
    #expect(notice.variables["HAUL_KIND"] == "list" && notice.variables["HAUL_STATE"] == "failed")
  }

  @Test func `what the log has dropped is reported once; a smaller number is of another list`() {
    var world = OutboxWorld()
    let commands = world.read(.reset(QueueSnapshot(number: 500, transfers: [])))
    #expect(commands.logged == ["up to 490 notices were dropped"])
    #expect(commands.delivered.map(\.kind) == [.dropped])
    #expect(commands.delivered.map(\.id) == ["dropped-10-500"])
    #expect(world.handle(.delivered) == [.store(500), .read])
    var other = OutboxWorld()
    #expect(other.read(.reset(QueueSnapshot(number: 3, transfers: []))) == [.store(3), .read])
    #expect(other.read(Ends.event(4)).delivered.map(\.number) == [4])
  }

  @Test func `many that are ready are reported as one, and stay one when that fails`() throws {
    var world = OutboxWorld(mostAtOnce: 2, spacing: .seconds(1))
    #expect(world.read(Ends.event(11), Ends.event(12)).delivered.map(\.number) == [11])
    #expect(world.handle(.delivered).delivered.map(\.number) == [12])
    #expect(world.handle(.delivered) == [.store(12), .wait(until: Instant(.seconds(1)))])
    #expect(world.handle(.waited) == [.read])
    let commands = world.read(
      Ends.event(13), Ends.event(14, .failed),
      Ends.event(15, group: "g", groupEnd: GroupEnd(name: "g", completed: 1)))
    let one = try #require(commands.delivered.first)
    #expect(one.kind == .several)
    #expect(one.state == .failed)
    #expect(one.title == "3 transfers: 1 of 3 failed")
    #expect(one.text == "2 completed, 1 failed; group g: completed")
    _ = world.handle(.failed(.init("no")))
    #expect(world.handle(.waited) == [.deliver(one)])
    #expect(world.handle(.delivered).stored == [15])
  }
}
