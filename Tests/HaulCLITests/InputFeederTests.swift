import Foundation
import HaulCLI
import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Runs of a list that is longer than what is in the manager at once.
@Suite(.timeLimit(.minutes(10))) struct InputFeederTests {
  private static let count = 300
  private static let window = 8

  /// What a run has seen.
  private struct Seen {
    var indices = Array(1...window)
    var mostMembers = 0
  }

  private func with(
    _ body: (CommandFixture, GetPlan) async throws -> Void
  ) async throws {
    let files = (1...Self.count).map { CommandFixture.file("/\($0)", length: 10) }
    try await CommandFixture.with(files) { (fixture) async throws in
      let list = (1...Self.count).map { fixture.server.url("/\($0)") + "\n" }.joined()
      var sources = sources(["list": list])
      sources.window = Self.window
      try await body(
        fixture,
        plan(["-i", "list", "-d", fixture.directory, "--durability", "relaxed"], sources))
    }
  }

  /// Runs the plan as a session does, until `stop` says so or all have ended.
  private func run(
    _ plan: GetPlan, _ options: OutputOptions = OutputOptions(),
    until stop: (ForegroundReport) -> Bool = { $0.isDone }
  ) async throws -> (report: ForegroundReport, output: [ForegroundReport.Output], seen: Seen) {
    let manager = try TransferManager(plan.managerOptions.configuration(logger: nil))
    let rest = try #require(plan.rest)
    let seen = NIOLockedValueBox(Seen())
    let added = NIOLockedValueBox([Int]())
    let feeder = InputFeeder(rest, in: manager, members: plan.requests.count) {
      (_, _, indices) throws(TransferError) in
      added.withLockedValue { $0 += indices }
      let members = await manager.counts.values.reduce(0, +)
      seen.withLockedValue { seen in
        seen.indices += indices
        seen.mostMembers = max(seen.mostMembers, members)
      }
    }
    let events = manager.events()
    var report = ForegroundReport(
      indices: plan.indices, further: rest.count, options: options, view: .plain, at: Instant())
    try await manager.add(plan.requests)
    var output: [ForegroundReport.Output] = []
    while true {
      let some = await events.next(atMost: 256)
      if some.isEmpty { break }
      for event in await feeder.note(some) {
        output += try report.handle(event, wallSeconds: 0)
      }
      if stop(report) {
        await feeder.close()
        await manager.pauseAll(by: .signal)
        await manager.shutdown()
      } else {
        try await feeder.fill()
        report.expect(
          added.withLockedValue { indices in
            defer { indices = [] }
            return indices
          })
      }
    }
    output += try report.end(at: Instant(.seconds(1)), wallSeconds: 1)
    #expect(await feeder.counts.values.reduce(0, +) <= Self.count)
    return (report, output, seen.withLockedValue { $0 })
  }

  @Test func `the manager never has more than the window, and the order is that of the list`()
    async throws
  {
    try await with { (fixture, plan) async throws in
      let (report, _, seen) = try await run(plan)
      #expect(seen.indices == Array(1...Self.count))
      #expect(seen.mostMembers <= Self.window)
      #expect(report.status == .completed)
      #expect(report.files.count <= Self.window)
      #expect(try fixture.names() == (1...Self.count).map(String.init).sorted())
      #expect(Set(fixture.server.snapshot.requests.map(\.path)).count == Self.count)
    }
  }

  @Test func `each line has its number, and the summary counts all`() async throws {
    try await with { (fixture, plan) async throws in
      for path in ["/2", "/150", "/300"] {
        fixture.server.setFaults(path, [.always(.status(404))])
      }
      var options = OutputOptions()
      options.json = true
      let (report, output, _) = try await run(plan, options)
      #expect(report.status == .failed)
      let lines = output.compactMap { if case .output(let line) = $0 { line } else { nil } }
      #expect(try EventSchema().violations(output: lines.joined()) == [])
      let events = try lines.map { try JSONValue(parsing: $0) }
      let finished = events.filter { $0["type"]?.string == "finished" }
      #expect(finished.count == Self.count)
      for event in finished {
        guard case .integer(let index) = event["index"] else {
          Issue.record("a line without a number")
          continue
        }
        #expect(event["url"]?.string?.hasSuffix("/\(index)") == true)
      }
      #expect(events.types.filter { $0 == "removed" } == [])
      let summary = try #require(events.last)
      #expect(summary["completed"] == .integer(297) && summary["failed"] == .integer(3))
      let messages = output.compactMap { if case .message(let line) = $0 { line } else { nil } }
      #expect(messages.filter { $0.hasPrefix("haul: failed: ") }.count == 3, "\(messages)")
    }
  }

  @Test func `a failed file keeps its bytes, and another run does what is left`()
    async throws
  {
    let length: Int64 = 3 << 20
    let other = (1...20).map { CommandFixture.file("/\($0)", length: 10) }
    let broken = CommandFixture.file(
      "/0", length: length, Fault(.reset(after: 1 << 20), when: .init(lastRequest: 1)),
      Fault(.status(503), when: .init(firstRequest: 2)))
    try await CommandFixture.with([broken] + other) { (fixture) async throws in
      let list = (0...20).map { fixture.server.url("/\($0)") + "\n" }.joined()
      var sources = sources(["list": list])
      sources.window = 2
      let arguments = ["-i", "list", "-d", fixture.directory, "--retries", "0", "-x", "1"]
      let first = try await run(plan(arguments, sources))
      #expect(first.report.status == .failed)
      #expect(try fixture.names().contains("0.haul.part"))
      fixture.server.setFaults("/0", [])
      let second = try await run(plan(arguments, sources))
      #expect(second.report.status == .completed)
      try fixture.expectWhole("0", length: length)
    }
  }

  @Test func `after a signal nothing else is added, and the same run goes on`() async throws {
    try await with { (fixture, plan) async throws in
      let (report, _, seen) = try await run(plan) { report in
        report.files.contains(where: \.hasEnded) && report.files.count == Self.window
      }
      #expect(!report.isDone && seen.indices.count < Self.count)
      let (again, _, _) = try await run(plan)
      #expect(again.status == .completed)
      #expect(try fixture.names().count == Self.count)
    }
  }
}
