import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// What each command does in each situation, through the commands, with one slot.
@Suite(.timeLimit(.minutes(10)))
struct DaemonQueueRuns {
  /// The ids of the three transfers.
  struct Three { let a, b, c: String }

  /// Three files; the first one stalls after 1 MiB, whatever connection asks.
  func withThree(
    _ body: (DaemonFixture, Three) async throws -> Void
  ) async throws {
    let stall = Fault(.stall(after: CommandFixture.stallOffset))
    try await DaemonFixture.with(
      CommandFixture.file("/a", stall), CommandFixture.file("/b"), CommandFixture.file("/c")
    ) { fixture in
      // On a busy machine the commands of a test may take longer than the usual timeout.
      let serving = try await fixture.serve("-j", "1", "--idle-timeout", "10m")
      let ids = Three(
        a: try await fixture.add("/a"), b: try await fixture.add("/b"),
        c: try await fixture.add("/c"))
      try await fixture.work.server.waitForHeld("/a")
      try await body(fixture, ids)
      // The end of the place stops the daemon, which may be another one by then.
      try await fixture.end()
      let status = await serving.end().status
      #expect(status == 0 || status == 128 + SIGKILL)
    }
  }

  /// Lets `/a` go on, for its next run.
  func heal(_ fixture: DaemonFixture) { fixture.work.server.setFaults("/a", []) }

  func states(_ fixture: DaemonFixture) async throws -> [TransferState] {
    try await ControlClient.with(try fixture.location()) { try await $0.transfers() }
      .transfers.map(\.state)
  }

  @Test func `D2, D9: those that wait say why, and start in order`() async throws {
    try await withThree { (fixture, ids) async throws in
      #expect(try await states(fixture) == [.running, .queued, .queued])
      #expect(try await fixture.state(of: ids.b).waiting?.code == "slot")
      #expect(try await fixture.haul("pause", ids.a).status == 0)
      #expect(try await fixture.haul("wait", ids.b, ids.c).status == 0)
      let order = fixture.work.server.snapshot.requests.map(\.path).filter { $0 != "/a" }
      #expect(order.first == "/b")
      #expect(order.last == "/c")
    }
  }

  @Test
  func `D4, D11: a pause frees the slot, and keeps the bytes; D6: resume goes on from them`()
    async throws
  {
    try await withThree { (fixture, ids) async throws in
      #expect(try await fixture.haul("pause", ids.a).status == 0)
      #expect(try await fixture.haul("wait", ids.b, ids.c).status == 0)
      #expect(try await states(fixture) == [.paused, .completed, .completed])
      #expect(try fixture.work.names().contains("a.haul.part"))
      heal(fixture)
      #expect(try await fixture.haul("resume", ids.a).status == 0)
      #expect(try await fixture.haul("wait", ids.a).status == 0)
      try fixture.work.expectWhole("a")
      let ranges = fixture.work.server.snapshot.requests.filter { $0.path == "/a" }.map(\.range)
      #expect(ranges.last != "bytes=0-", "from its bytes")
    }
  }

  @Test func `one that runs gets another rate limit, which show prints`() async throws {
    try await DaemonFixture.with(
      CommandFixture.file("/a", Fault(.stall(after: CommandFixture.stallOffset)))
    ) {
      fixture in
      _ = try await fixture.serve()
      let id = try await fixture.add("/a", "--limit-rate", "100M")
      try await fixture.work.server.waitForHeld("/a")
      #expect(try await fixture.state(of: id).rateLimit == 100 << 20)
      #expect(try await fixture.haul("show", id).output.contains("rate limit 100.0 MiB/s"))
      #expect(try await fixture.haul("set", id, "--limit-rate", "128K").status == 0)
      #expect(try await fixture.state(of: id).rateLimit == 128 << 10)
      #expect(try await fixture.haul("set", id, "--limit-rate", "none").status == 0)
      #expect(try await fixture.state(of: id).rateLimit == nil)
      #expect(try await fixture.state(of: id).state == .running)
      let program = try await fixture.haul("add", "--run", "--limit-rate", "1K", "--", "true")
      #expect(program.status == 2)
      _ = try await fixture.haul("remove", "--all")
    }
  }

  @Test
  func `one with a start time waits for it, says so, and starts when that is taken away`()
    async throws
  {
    try await DaemonFixture.withFiles(["/a", "/b"]) { fixture in
      _ = try await fixture.serve()
      let time = "2100-01-01T12:00"
      let (a, b) = (
        try await fixture.add("/a", "--at", time), try await fixture.add("/b", "--at", time)
      )
      let transfer = try await fixture.state(of: a)
      #expect(transfer.waiting?.code == "start-time")
      #expect(transfer.startsAt != nil && transfer.waiting?.until == transfer.startsAt)
      let text = "starts at 2100-01-01 12:00"
      #expect(try await fixture.haul("list").output.contains("queued: \(text)"))
      #expect(
        try await fixture.haul("explain", a).output.contains(
          "\(text); haul start \(a) lets it start"))
      #expect(try await fixture.haul("set", a, "--at", "2101-01-01T12:00").status == 0)
      #expect(try await fixture.haul("show", a).output.contains("starts     2101-01-01 12:00"))
      #expect(try await fixture.haul("set", a, "--at", "now").status == 0)
      #expect(try await fixture.haul("start", b).status == 0)
      #expect(try await fixture.haul("wait", a, b).status == 0)
      #expect(try await fixture.state(of: b).startsAt == nil)
      #expect(try await fixture.haul("add", "--at", "25:00", "http://h/x").status == 2)
    }
  }

  @Test
  func `D5, D12: a cancelled one frees its slot, its part file is deleted, and it stays listed`()
    async throws
  {
    try await withThree { (fixture, ids) async throws in
      #expect(try await fixture.haul("cancel", ids.a).status == 0)
      #expect(try await fixture.haul("wait", "--all").status == 3)
      #expect(try await states(fixture) == [.cancelled, .completed, .completed])
      #expect(try fixture.work.names() == ["b", "c", "s"])
    }
  }

  @Test func `D5: --keep-part keeps it, and retry goes on from it`() async throws {
    try await withThree { (fixture, ids) async throws in
      #expect(try await fixture.haul("cancel", "--keep-part", ids.a).status == 0)
      #expect(try fixture.work.names().contains("a.haul.part"))
      heal(fixture)
      #expect(try await fixture.haul("retry", ids.a).status == 0)
      #expect(try await fixture.haul("wait", "--all").status == 0)
      try fixture.work.expectWhole("a")
      #expect(try await states(fixture) == [.completed, .completed, .completed])
    }
  }

  @Test func `D7, D13: a paused one is cancelled at once, without a resume`() async throws {
    try await withThree { (fixture, ids) async throws in
      #expect(try await fixture.haul("pause", ids.a, ids.c).status == 0)
      #expect(try await fixture.haul("cancel", ids.a, ids.c).status == 0)
      #expect(try await fixture.haul("wait", ids.b).status == 0)
      #expect(try await states(fixture) == [.cancelled, .completed, .cancelled])
      let all = try await fixture.haul("pause", "--all")
      #expect(all.status == 0, "a command for all is for those that it can be for: \(all.errors)")
      #expect(try await fixture.haul("pause", ids.b).status == 1)
    }
  }

  @Test
  func `D8, D10: one that fails stays in its place with its bytes; the next one starts`()
    async throws
  {
    try await withThree { (fixture, ids) async throws in
      fixture.work.server.setFaults("/a", [Fault(.status(403))])
      fixture.work.server.dropConnections()
      #expect(try await fixture.haul("wait", "--all").status == 1)
      #expect(try await states(fixture) == [.failed, .completed, .completed])
      #expect(try fixture.work.names().contains("a.haul.part"))
      heal(fixture)
      #expect(try await fixture.haul("retry", ids.a).status == 0)
      #expect(try await fixture.haul("wait", ids.a).status == 0)
      try fixture.work.expectWhole("a")
    }
  }

  @Test func `D14: cancelling all ends running, waiting and paused ones alike`() async throws {
    try await withThree { (fixture, ids) async throws in
      #expect(try await fixture.haul("pause", ids.c).status == 0)
      #expect(try await fixture.haul("cancel", "--all").status == 0)
      #expect(try await states(fixture) == [.cancelled, .cancelled, .cancelled])
    }
  }

  @Test
  func `D15: a waiting one that is paused is passed by; resume of a waiting one changes nothing`()
    async throws
  {
    try await withThree { (fixture, ids) async throws in
      #expect(try await fixture.haul("pause", ids.b).status == 0)
      #expect(try await fixture.haul("resume", ids.c).status == 0)
      #expect(try await states(fixture) == [.running, .paused, .queued])
      #expect(try await fixture.haul("cancel", ids.a).status == 0)
      #expect(try await fixture.haul("wait", ids.c).status == 0)
      #expect(try await states(fixture) == [.cancelled, .paused, .completed])
    }
  }

  @Test func `D16: start respects the limit, and --force exceeds it`() async throws {
    try await withThree { (fixture, ids) async throws in
      #expect(try await fixture.haul("start", ids.c).status == 0)
      #expect(try await states(fixture) == [.running, .queued, .queued])
      #expect(try await fixture.haul("start", "--force", ids.c).status == 0)
      #expect(try await fixture.haul("wait", ids.c).status == 0)
      #expect(try await states(fixture) == [.running, .queued, .completed])
    }
  }

  @Test
  func `D17: a running one that is put back keeps bytes and place, and starts when a slot is free`()
    async throws
  {
    try await withThree { (fixture, ids) async throws in
      heal(fixture)
      #expect(try await fixture.haul("requeue", ids.a).status == 0)
      #expect(try await fixture.haul("wait", "--all").status == 0)
      try fixture.work.expectWhole("a")
      let order = try await ControlClient.with(try fixture.location()) { try await $0.transfers() }
      #expect(order.transfers.map(\.id.description) == [ids.a, ids.b, ids.c])
    }
  }

  @Test
  func `D18: a completed one is restarted from byte 0, in its old place; a retry of it is refused`()
    async throws
  {
    try await withThree { (fixture, ids) async throws in
      heal(fixture)
      #expect(try await fixture.haul("requeue", ids.a).status == 0)
      #expect(try await fixture.haul("wait", "--all").status == 0)
      let refused = try await fixture.haul("retry", ids.b)
      #expect(refused.status == 1)
      #expect(refused.errors.contains("it is completed; restart it"), "\(refused.errors)")
      let before = fixture.work.server.snapshot.requestCount("/b")
      #expect(try await fixture.haul("restart", ids.b).status == 0)
      #expect(try await fixture.haul("wait", "--all").status == 0)
      #expect(fixture.work.server.snapshot.requestCount("/b") > before)
      #expect(try await states(fixture) == [.completed, .completed, .completed])
    }
  }

  @Test
  func `D19, D20: the order can be changed while one runs, and survives kill -9`() async throws {
    try await withThree { (fixture, ids) async throws in
      #expect(try await fixture.haul("move", ids.c, "--first").status == 0)
      #expect(try await fixture.haul("move", ids.a, "--last").status == 0)
      #expect(try await fixture.haul("pause", ids.b).status == 0)
      kill(try await fixture.pid(), SIGKILL)
      heal(fixture)
      let started = try await fixture.haul("daemon", "start")
      #expect(started.status == 0, "\(started.errors)")
      let list = try await ControlClient.with(try fixture.location()) { try await $0.transfers() }
      #expect(list.transfers.map(\.id.description) == [ids.c, ids.b, ids.a])
      #expect(list.transfers[1].state == .paused)
      #expect(try await fixture.haul("wait", "--all").status == 3)
      try fixture.work.expectWhole("a")
    }
  }

  @Test(arguments: [false, true])
  func `an acknowledged start survives kill -9: it goes first`(isPaused: Bool) async throws {
    try await withThree { (fixture, ids) async throws in
      #expect(try await fixture.haul("suspend").status == 0)
      if isPaused { #expect(try await fixture.haul("pause", ids.c).status == 0) }
      #expect(try await fixture.haul("start", ids.c).status == 0)
      kill(try await fixture.pid(), SIGKILL)
      let before = fixture.work.server.snapshot.requests.count
      heal(fixture)
      let again = try await fixture.serve("-j", "1")
      #expect(try await fixture.haul("unsuspend").status == 0)
      #expect(try await fixture.haul("wait", "--all").status == 0)
      let requests = fixture.work.server.snapshot.requests.dropFirst(before)
      #expect(requests.first?.path == "/c")
      try await fixture.end()
      #expect(await again.end().status == 0)
    }
  }
}
