import HaulControl
import HaulCore
import Testing

/// Which waits get a notice, and when they are over.
@Suite struct LongWaitsTests {
  private let ids: [TransferID]
  private let full = WaitReason.diskFull(
    .init(device: 1, directory: "/d", needed: 9 << 20, free: 1 << 20))

  init() {
    var generator = SystemRandomNumberGenerator()
    ids = (0..<3).map { _ in TransferID(using: &generator) }
  }

  private func titles(
    _ waits: inout LongWaits, _ id: Int, _ kind: TransferEvent.Kind, at time: Double
  ) -> [String] {
    let event = TransferEvent(number: nil, id: ids[id], identity: nil, kind: kind)
    return waits.notices(of: event, after: 7, name: "f\(id)", time: time).map(\.title)
  }

  private let completed = TransferEvent.Kind.finished(
    TransferResult(state: .completed, path: "/d/f", bytes: 1, error: nil))

  @Test func `A full disk is reported once for all its transfers, and once when one is complete`() {
    var waits = LongWaits()
    let begin = titles(&waits, 0, .waiting(full), at: 10)
    #expect(begin.count == 1 && begin[0].hasPrefix("waiting: the disk is full"), "\(begin)")
    #expect(titles(&waits, 1, .waiting(full), at: 11) == [])
    #expect(titles(&waits, 0, .phase(.connecting, reason: nil), at: 20) == [])
    #expect(titles(&waits, 0, completed, at: 30) == [], "another one still waits")
    #expect(titles(&waits, 1, .phase(.connecting, reason: nil), at: 40) == [])
    let over = titles(&waits, 1, completed, at: 50)
    #expect(over.count == 1 && over[0].hasPrefix("no longer waiting: the disk is full"), "\(over)")
    #expect(titles(&waits, 2, .waiting(full), at: 60).count == 1, "the next one is new")
  }

  @Test func `What is taken out says nothing of the wait, and the next one is reported`() {
    let cancelled = TransferEvent.Kind.finished(
      TransferResult(state: .cancelled, path: nil, bytes: 0, error: nil))
    for end in [cancelled, .paused(by: .user), .removed] {
      var waits = LongWaits()
      #expect(titles(&waits, 0, .waiting(full), at: 0).count == 1)
      #expect(titles(&waits, 0, end, at: 1) == [])
      #expect(titles(&waits, 1, .waiting(full), at: 5).map { $0.hasPrefix("waiting") } == [true])
      #expect(titles(&waits, 2, .waiting(full), at: 6) == [])
      #expect(titles(&waits, 2, end, at: 7) == [], "another one waits")
      #expect(titles(&waits, 1, .phase(.connecting, reason: nil), at: 8) == [])
      #expect(titles(&waits, 1, end, at: 9).map { $0.hasPrefix("no longer") } == [true])
    }
    var waits = LongWaits()
    #expect(titles(&waits, 0, .waiting(full), at: 0).count == 1)
    #expect(titles(&waits, 0, .phase(.connecting, reason: nil), at: 1) == [])
    #expect(
      titles(&waits, 1, .waiting(full), at: 500).map { $0.hasPrefix("waiting") } == [false, true])
  }

  @Test func `A trial that fails again is no end of the wait`() {
    var waits = LongWaits()
    #expect(titles(&waits, 0, .waiting(full), at: 0).count == 1)
    for trial in 1...50 {
      let time = Double(trial) * 60
      #expect(titles(&waits, 0, .phase(.connecting, reason: nil), at: time) == [])
      #expect(titles(&waits, 0, .waiting(full), at: time + 5) == [])
    }
    #expect(titles(&waits, 0, .phase(.connecting, reason: nil), at: 4000) == [])
    let progress = TransferEvent.Kind.progress(TransferProgress(bytes: 1))
    #expect(titles(&waits, 0, progress, at: 4080) == [])
    #expect(titles(&waits, 0, progress, at: 4090).count == 1, "it has gone on for long")
    #expect(titles(&waits, 0, progress, at: 9000) == [])
  }

  @Test func `Each missing directory is reported, and the network after an hour`() {
    var waits = LongWaits()
    let missing = { WaitReason.directoryMissing($0, foundDevice: nil) }
    #expect(titles(&waits, 0, .waiting(missing("/a")), at: 0).count == 1)
    #expect(titles(&waits, 1, .waiting(missing("/b")), at: 0).count == 1)
    #expect(titles(&waits, 2, .waiting(.offline), at: 0) == [])
    #expect(titles(&waits, 2, .waiting(.offline), at: 3599) == [])
    #expect(titles(&waits, 2, .waiting(.offline), at: 3600) == ["waiting: there is no network"])
    #expect(titles(&waits, 2, .waiting(.offline), at: 7200) == [])
  }

  @Test func `A short outage, a slot and a retry are not reported`() {
    var waits = LongWaits()
    for reason in [WaitReason.slot, .retry(at: 5), .suspended, .hostLimit, .offline] {
      #expect(titles(&waits, 0, .waiting(reason), at: 0) == [])
    }
    #expect(titles(&waits, 0, .phase(.connecting, reason: nil), at: 60) == [])
    #expect(titles(&waits, 0, completed, at: 61) == [])
  }

  @Test func `The notice says what is waited for, since when, and that it is over`() throws {
    var waits = LongWaits()
    let events = [TransferEvent.Kind.waiting(full), completed].map {
      TransferEvent(number: nil, id: ids[0], identity: nil, kind: $0)
    }
    let begin = try #require(
      waits.notices(of: events[0], after: 7, name: "a.iso", time: 100).first)
    #expect(begin.kind == .waiting && begin.number == 7 && begin.transfer == ids[0])
    #expect(begin.waiting?.code == "disk-full" && begin.waiting?.since == 100)
    #expect(begin.waiting?.isOver == false)
    #expect(begin.text == "a.iso waits, and goes on by itself when this is over")
    let over = try #require(
      waits.notices(of: events[1], after: 8, name: nil, time: 11_260).first)
    #expect(over.waiting?.since == 100 && over.waiting?.isOver == true)
    #expect(over.text == "it took 3 h 6 min")
    #expect(over.id != begin.id)
  }

  @Test func `What was missed is read from the present state`() {
    var waits = LongWaits()
    #expect(titles(&waits, 0, .waiting(full), at: 0).count == 1)
    waits.reset(to: [], time: 100)
    #expect(titles(&waits, 1, .moved, at: 150) == [])
    #expect(titles(&waits, 1, .moved, at: 190).count == 1, "nothing waits any more")
  }
}
