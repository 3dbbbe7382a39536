import HaulCore
import Testing

/// Case 38 would last a minute in real time, so the machine is tested with simulated time.
@Suite struct SlowConnectionTests {
  private struct Run {
    var machine: DownloadMachine
    var plan = SegmentPlan()

    mutating func tell(_ event: DownloadMachine.Event, at second: Int) -> [DownloadMachine.Command]
    {
      machine.handle(event, in: .init(), plan: &plan, at: Instant(.seconds(second)))
    }

    /// Bytes that one connection receives in a second.
    mutating func write(_ id: SegmentID, _ count: Int) {
      _ = plan.reserve(id, count: count)
      plan.noteWritten(id)
    }
  }

  private func started() throws -> (Run, SegmentID) {
    var rules = DownloadMachine.Rules(
      DownloadRequest(url: try ResourceURL("http://host.invalid/f"), to: .directory(".")))
    rules.request.connections = 1
    var random = SystemRandomNumberGenerator()
    var run = Run(machine: DownloadMachine(rules: rules, now: Instant(), using: &random))
    let opened = run.tell(.start(.init()), at: 0).compactMap { command in
      if case .open(let id, _) = command { id } else { nil }
    }
    let id = try #require(opened.first)
    let head = ResponseHead(
      status: 206,
      headers: HeaderFields([
        ("Content-Range", "bytes 0-999999/1000000"), ("Content-Length", "1000000"),
        ("ETag", "\"a\""),
      ]), url: try ResourceURL("http://host.invalid/f"))
    _ = run.tell(.responded(id, head, isFromOtherAddress: false, wallSeconds: 0), at: 0)
    return (run, id)
  }

  @Test func `A connection below 1 KiB a second is closed after a minute and retried`() throws {
    var (run, id) = try started()
    var stops: [Int] = []
    for second in 0...70 where stops.isEmpty {
      if run.tell(.tick, at: second).contains(.stop(id)) { stops.append(second) }
      run.write(id, 1)
      if second == 0 { _ = run.tell(.delivered(id), at: 0) }
    }
    #expect(stops == [60])
    let commands = run.tell(.stopped(id), at: 60)
    let codes = commands.compactMap {
      if case .attempt(_, let error, _) = $0 { error.code } else { nil }
    }
    #expect(codes == [.stalled])
    #expect(run.plan.receivedCount == 61, "the bytes are kept")
  }

  @Test func `A slow but steady connection is kept`() throws {
    var (run, id) = try started()
    for second in 0...300 {
      #expect(!run.tell(.tick, at: second).contains(.stop(id)))
      run.write(id, 2048)
    }
  }
}
