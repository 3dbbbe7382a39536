import HaulCLI
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// The live view of the queue.
@Suite
struct WatchReportTests {
  private let a: TransferID
  private let b: TransferID

  init() throws {
    a = try #require(TransferID("4FZ0ABCD"))
    b = try #require(TransferID("7QX1ABCE"))
  }

  private func transfer(
    _ id: TransferID, _ state: TransferState, bytes: Int64 = 0, group: String? = nil,
    after dependency: TransferID? = nil
  ) -> StreamMessage {
    var transfer = TransferDocument(id: id, name: id == a ? "a.iso" : "b.iso", state: state)
    (transfer.bytes, transfer.total, transfer.group) = (bytes, 100, group)
    if let dependency {
      transfer.waiting = .init(code: "dependency", message: "waits for \(dependency)")
      transfer.waiting?.transfer = dependency
    }
    return .transfer(transfer)
  }

  private func event(_ id: TransferID, _ kind: TransferEvent.Kind) -> StreamMessage {
    .event(EventDocument(TransferEvent(id: id, kind: kind), at: 0))
  }

  @Test func `it does not end before the whole list is known, nor while something runs`() throws {
    var report = WatchReport(.all, json: false)
    _ = try report.handle(.reset)
    _ = try report.handle(transfer(a, .completed))
    #expect(report.end == nil)
    _ = try report.handle(transfer(b, .running))
    _ = try report.handle(.ready(number: 2))
    #expect(report.end == nil)
    _ = try report.handle(transfer(b, .paused))
    #expect(report.end == .stopped)
    _ = try report.handle(transfer(b, .failed))
    #expect(report.end == nil, "its end is still to be told")
    _ = try report.handle(
      event(b, .finished(TransferResult(state: .failed, path: nil, bytes: 0))))
    #expect(report.end == .failed)
    _ = try report.handle(event(b, .removed))
    #expect(report.end == .stopped, "it was removed before it was completed")
    #expect(report.summary == "haul: 1 completed")
  }

  @Test
  func `it ends if what it shows waits for one that is paused, also for one that it does not show`()
    throws
  {
    for scope in [WatchReport.Scope.all, .ids([b])] {
      var report = WatchReport(scope, json: false)
      _ = try report.handle(transfer(a, .running))
      _ = try report.handle(transfer(b, .queued, after: a))
      _ = try report.handle(.ready(number: 2))
      #expect(report.end == nil)
      _ = try report.handle(transfer(a, .paused))
      #expect(report.end == .stopped)
      _ = try report.handle(transfer(a, .running))
      #expect(report.end == nil)
    }
  }

  @Test
  func `with --json, a line is a state at first and after a change, otherwise an event`() throws {
    var report = WatchReport(.all, json: true)
    func types(_ message: StreamMessage) throws -> [String?] {
      try report.handle(message, wallSeconds: 5).map {
        let line = try JSONValue(parsing: $0)
        #expect(line["time"] == .integer(5) && line["index"] == nil)
        return line["type"]?.string
      }
    }
    #expect(try types(.reset) == [])
    #expect(try types(transfer(a, .running)) == ["transfer"])
    #expect(try types(.ready(number: 1)) == [])
    #expect(try types(event(a, .paused(by: .user))) == ["paused"])
    #expect(try types(transfer(a, .paused)) == [])
    var change = EventDocument(TransferEvent(id: a, kind: .moved), at: 0)
    (change.type, change.kind) = (.changed, nil)
    #expect(try types(.event(change)) == ["changed"])
    #expect(try types(transfer(a, .paused)) == ["transfer"])
    #expect(try types(transfer(a, .paused)) == [])
  }

  @Test func `one that is removed after it was completed counts as completed`() throws {
    var report = WatchReport(.all, json: false)
    _ = try report.handle(transfer(a, .completed))
    _ = try report.handle(.ready(number: 1))
    _ = try report.handle(event(a, .removed))
    #expect(report.end == .completed)
  }

  @Test func `one that is removed before it has ended is not an empty list`() throws {
    var report = WatchReport(.ids([a]), json: false)
    _ = try report.handle(transfer(a, .running))
    _ = try report.handle(.ready(number: 1))
    _ = try report.handle(event(a, .removed))
    #expect(report.end == .stopped)
    #expect(report.summary == "haul: what was watched was removed")
  }

  @Test func `a reset replaces everything`() throws {
    var report = WatchReport(.all, json: false)
    _ = try report.handle(transfer(a, .running))
    _ = try report.handle(.reset)
    _ = try report.handle(.ready(number: 1))
    #expect(report.end == .completed)
    #expect(report.summary == "haul: the list is empty")
  }

  @Test func `what is not watched changes nothing`() throws {
    for scope in [WatchReport.Scope.ids([a]), .group("g")] {
      var report = WatchReport(scope, json: false)
      _ = try report.handle(transfer(a, .completed, group: "g"))
      _ = try report.handle(transfer(b, .running))
      #expect(try report.handle(event(b, .paused(by: .user))).isEmpty)
      _ = try report.handle(.ready(number: 1))
      #expect(report.end == .completed)
    }
  }

  @Test func `an end, a pause and a retry are lines; text from outside is escaped`() throws {
    var report = WatchReport(.all, json: false)
    _ = try report.handle(transfer(a, .running))
    let error = TransferError(.connect, "connection refused\u{1B}[2J", isRetryable: true)
    let kinds: [(TransferEvent.Kind, String)] = [
      (.paused(by: .user), "a.iso: paused"),
      (
        .attempt(number: 1, error: error, delay: .seconds(1)),
        #"a.iso: connection refused\x1b[2J; retrying"#
      ),
      (
        .finished(TransferResult(state: .completed, path: "/d/a.iso", bytes: 1024)),
        "/d/a.iso: complete, 1.0 KiB"
      ),
      (
        .finished(TransferResult(state: .failed, error: error)),
        #"a.iso: failed: connection refused\x1b[2J"#
      ),
    ]
    for (kind, line) in kinds {
      #expect(try report.handle(event(a, kind)) == [line])
    }
    #expect(try report.handle(event(a, .moved)).isEmpty)
    let result = TransferResult(state: .completed, path: "/d/a.iso", verified: .unverified)
    let warned = try report.handle(event(a, .finished(result)))
    #expect(warned.first?.contains("; warning: nothing shows that") == true, "\(warned)")
  }
}
