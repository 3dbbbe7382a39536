import HaulCore
import Testing

/// Which transfers wait for a disk, a directory or a network, and when they may resume.
@Suite struct WaitMonitorTests {
  private typealias Shortage = WaitReason.Shortage
  private static let reserve = WaitMonitor.reserve

  private var watch = WaitMonitor()
  private let ids: [TransferID]
  private let start = Instant(.seconds(100))

  init() {
    var generator = SplitMix64(seed: 61)
    ids = (0..<4).map { _ in TransferID(using: &generator) }
  }

  private func full(
    _ device: UInt64 = 1, needed: Int64 = 0, free: Int64? = 0, in directory: String = "/d"
  ) -> WaitReason {
    .diskFull(Shortage(device: device, directory: directory, needed: needed, free: free))
  }

  private func looked(
    _ results: [WaitMonitor.Check: WaitMonitor.CheckResult]
  ) -> WaitMonitor.Event { .checked(results) }

  private func room(_ free: Int64?, on device: UInt64 = 1) -> WaitMonitor.Event {
    .checked([.room(device: device, directory: "/d"): .room(free: free)])
  }

  @Test func `Transfers resume when their needs are free; only one may use the reserve`() {
    var watch = watch
    for id in ids[0...2] {
      let reason = full(needed: 8 << 20, free: 1 << 20)
      #expect(watch.handle(.suspended(id, reason), at: start).isEmpty)
    }
    #expect(watch.nextCheck == start + WaitMonitor.period)
    #expect(watch.checks == [.room(device: 1, directory: "/d")])
    let later = start + WaitMonitor.period
    #expect(watch.handle(room((8 << 20) - 1), at: later).isEmpty)
    #expect(watch.nextCheck == later + WaitMonitor.period)
    #expect(watch.handle(room((8 << 20) + Self.reserve), at: later) == Array(ids[0...1]))
    #expect(watch.handle(room((8 << 20) + Self.reserve), at: later) == [ids[2]])
    #expect(watch.nextCheck == nil, "without a waiter there is no check")
  }

  @Test func `A wait is reported again every hour while it lasts`() {
    var watch = watch
    _ = watch.handle(.suspended(ids[0], .offline), at: start)
    let hour = WaitMonitor.reportPeriod
    #expect(watch.longWaits(at: start + (hour - .seconds(1))).isEmpty)
    #expect(watch.longWaits(at: start + hour).map(\.id) == [ids[0]])
    #expect(watch.longWaits(at: start + (hour + .seconds(1))).isEmpty)
    #expect(watch.longWaits(at: start + hour * 2).map(\.reason) == [.offline])
    _ = watch.handle(.left(ids[0]), at: start)
    #expect(watch.longWaits(at: start + hour * 9).isEmpty)
  }

  @Test func `The reason of a full disk follows the checks`() {
    var watch = watch
    let reason = full(needed: 100 << 20, free: 2 << 20)
    _ = watch.handle(.suspended(ids[0], reason), at: start)
    #expect(watch.updated(reason) == reason, "nothing was checked yet")
    #expect(watch.handle(room(12 << 20), at: start).isEmpty)
    #expect(watch.updated(reason) == full(needed: 100 << 20, free: 12 << 20))
    #expect(watch.updated(full(2, needed: 9, free: 1)) == full(2, needed: 9, free: 1))
    #expect(watch.updated(.offline) == .offline)
    // More would not explain why it waits.
    #expect(watch.handle(room(50 << 20), at: start).isEmpty)
    #expect(watch.updated(full(needed: 20 << 20, free: 1)) == full(needed: 20 << 20, free: 1))
    _ = watch.handle(.left(ids[0]), at: start)
    #expect(watch.updated(reason) == reason)
  }

  @Test func `Waiting transfers resume in order as far as the room allows, small before large`() {
    var watch = watch
    for (id, needed) in zip(ids, [Int64(50 << 20), 500 << 20, 30 << 20, 40 << 20]) {
      _ = watch.handle(.suspended(id, full(needed: needed)), at: start)
    }
    #expect(watch.checks.count == 1, "a file system is checked once")
    let released = watch.handle(room((100 << 20) + Self.reserve), at: start)
    #expect(released == [ids[0], ids[2]])
    #expect(watch.handle(room((40 << 20) + Self.reserve), at: start) == [ids[3]])
    #expect(Array(watch.ids) == [ids[1]])
  }

  @Test func `On a small file system one transfer after the other may use the reserve`() {
    var watch = watch
    for id in ids[0...1] {
      _ = watch.handle(.suspended(id, full(needed: 3 << 20)), at: start)
    }
    #expect(watch.handle(room(5 << 20), at: start) == [ids[0]])
    #expect(watch.fullDevices.isEmpty, "its run is not refused")
    #expect(watch.handle(room(2 << 20), at: start).isEmpty)
    #expect(watch.handle(room(5 << 20), at: start) == [ids[1]])
  }

  @Test func `Without the reserve, a transfer of unknown length is tried once a minute`() {
    var watch = watch
    _ = watch.handle(.suspended(ids[0], full(free: 1 << 20)), at: start)
    _ = watch.handle(.suspended(ids[1], full(free: 1 << 20)), at: start)
    #expect(watch.handle(room(1 << 20), at: start + .seconds(59)).isEmpty)
    #expect(watch.fullDevices == [1])
    #expect(watch.handle(room(0), at: start + .seconds(60)).isEmpty, "there is no room")
    #expect(watch.handle(room(1 << 20), at: start + .seconds(60)) == [ids[0]])
  }

  @Test func `A file system is full for all transfers, or only too small for one`() {
    var watch = watch
    _ = watch.handle(.suspended(ids[0], full(1, needed: 1 << 40, free: 1 << 30)), at: start)
    #expect(watch.fullDevices.isEmpty, "others have room")
    _ = watch.handle(.suspended(ids[1], full(2, free: Self.reserve - 1)), at: start)
    #expect(watch.fullDevices == [2])
    _ = watch.handle(room(Self.reserve, on: 2), at: start)
    #expect(watch.fullDevices.isEmpty)
  }

  @Test func `A file system no longer counts as full when no transfer waits for it`() {
    var watch = watch
    _ = watch.handle(.suspended(ids[0], full()), at: start)
    _ = watch.handle(.suspended(ids[1], full()), at: start)
    _ = watch.handle(.left(ids[0]), at: start)
    #expect(watch.fullDevices == [1])
    _ = watch.handle(.left(ids[1]), at: start)
    #expect(watch.fullDevices.isEmpty)
    #expect(watch.nextCheck == nil)
  }

  @Test(arguments: [nil, Int64(1 << 40)])
  func `A transfer retries once a minute if the free bytes do not explain the error`(
    free: Int64?
  ) {
    var watch = watch
    _ = watch.handle(.suspended(ids[0], full(needed: 1 << 20, free: free)), at: start)
    #expect(watch.fullDevices.isEmpty)
    let before = start + .seconds(59)
    #expect(watch.handle(room(free), at: before).isEmpty)
    let then = start + WaitMonitor.tryPeriod
    #expect(watch.handle(room(free), at: then) == [ids[0]])
  }

  @Test func `Each file system resumes its own transfers`() {
    var watch = watch
    _ = watch.handle(.suspended(ids[0], full(1)), at: start)
    _ = watch.handle(.suspended(ids[1], full(2, in: "/e")), at: start)
    let checks: [WaitMonitor.Check] = [
      .room(device: 1, directory: "/d"), .room(device: 2, directory: "/e"),
    ]
    #expect(watch.checks == checks)
    let released = watch.handle(
      looked([checks[0]: .room(free: 0), checks[1]: .room(free: 1 << 30)]), at: start)
    #expect(released == [ids[1]])
    // The file system is gone: transfers that wait for it must now wait for its directory.
    #expect(watch.handle(looked([checks[0]: .missing]), at: start) == [ids[0]])
  }

  @Test func `A missing directory is waited for, and one on another device does not count`() {
    var watch = watch
    let check = WaitMonitor.Check.directory("/m/d")
    _ = watch.handle(.suspended(ids[0], .directoryMissing("/m/d", foundDevice: nil)), at: start)
    #expect(watch.checks == [check])
    #expect(watch.handle(looked([check: .missing]), at: start).isEmpty)
    #expect(watch.handle(looked([check: .directory(device: 9)]), at: start).count == 1)
    _ = watch.handle(.suspended(ids[0], .directoryMissing("/m/d", foundDevice: 9)), at: start)
    #expect(watch.handle(looked([check: .directory(device: 9)]), at: start).isEmpty)
    #expect(watch.handle(looked([check: .missing]), at: start).isEmpty)
    let back = looked([check: .directory(device: 5)])
    #expect(watch.handle(back, at: start) == [ids[0]])
  }

  @Test func `All offline transfers resume when the network returns`() {
    var watch = watch
    let reported = watch.handle(.suspended(ids[0], .offline), at: start)
    #expect(reported.isEmpty)
    _ = watch.handle(.suspended(ids[1], .offline), at: start)
    #expect(watch.checks == [.network])
    #expect(watch.handle(looked([.network: .network(isUp: false)]), at: start).isEmpty)
    let released = watch.handle(looked([.network: .network(isUp: true)]), at: start)
    #expect(released == [ids[0], ids[1]])
  }

  @Test func `A failed check changes nothing`() {
    var watch = watch
    _ = watch.handle(.suspended(ids[0], full()), at: start)
    _ = watch.handle(.suspended(ids[1], .offline), at: start)
    #expect(watch.handle(looked([:]), at: start).isEmpty)
    #expect(watch.ids.count == 2)
  }
}
