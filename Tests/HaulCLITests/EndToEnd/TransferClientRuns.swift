import Foundation
import HaulClient
import HaulControl
import HaulCore
import HaulKit
import HaulStore
import HaulTesting
import Testing

/// A program's foreground and background transfers, with a real daemon.
@Suite(.timeLimit(.minutes(10)))
struct TransferClientRuns {
  /// What one run of a program has.
  private struct Program {
    let fixture: DaemonFixture

    /// A run of the program, with its own stored list and the daemon.
    func run<Result>(_ body: (TransferClient) async throws -> Result) async throws -> Result {
      let manager = try await TransferManager(directory: fixture.work.path("own"))
      let client = try TransferClient(manager, stateDirectory: try fixture.location().directory)
      do {
        let result = try await body(client)
        await client.shutdown()
        return result
      } catch {
        await client.shutdown()
        throw error
      }
    }

    func request(_ name: String, background: Bool) throws -> TransferRequest {
      var request = TransferRequest.download(
        try ResourceURL(fixture.work.server.url("/\(name)")), to: .file(fixture.work.path(name))
      ) { $0.connections = 1 }
      (request.identifier, request.group, request.isBackground) = (name, "g", background)
      return request
    }
  }

  private func withProgram(
    _ names: [String], stalling: Bool, _ body: (Program) async throws -> Void
  ) async throws {
    let resources = names.map {
      stalling
        ? CommandFixture.file("/\($0)", Fault(.stall(after: CommandFixture.stallOffset)))
        : CommandFixture.file("/\($0)")
    }
    try await CommandFixture.with(resources) { (work) async throws in
      let fixture = DaemonFixture(work: work)
      let serving = try await fixture.serve()
      try await body(Program(fixture: fixture))
      try await fixture.end()
      _ = await serving.end()
    }
  }

  private static let names = ["f1", "f2", "b1", "b2", "b3"]

  @Test
  func `those of the background arrive without it; it finds all, each reported once, in order`()
    async throws
  {
    try await withProgram(Self.names, stalling: true) { (program) async throws in
      let number = try await program.run { (client) async throws in
        let added = try await client.add(
          Self.names.map { try program.request($0, background: $0.hasPrefix("b")) })
        #expect(added.map(\.isBackground) == [false, false, true, true, true])
        for name in Self.names { try await program.fixture.work.server.waitForHeld("/\(name)") }
        for try await event in try await client.backgroundEvents() {
          if case .reset(let number, let transfers) = event {
            #expect(Set(transfers.map(\.identifier)) == ["b1", "b2", "b3"])
            return number
          }
        }
        return 0
      }
      // The program is gone.
      for name in Self.names { program.fixture.work.server.setFaults("/\(name)", []) }
      for name in Self.names.suffix(3) { program.fixture.work.server.release("/\(name)") }
      #expect(try await program.fixture.haul("wait", "--all").status == 0)
      for name in Self.names.suffix(3) { try program.fixture.work.expectWhole(name) }
      #expect(!FileManager.default.fileExists(atPath: program.fixture.work.path("f1")))

      try await program.run { (client) async throws in
        #expect(Set(try await client.transfers(group: "g").map(\.identifier)) == Set(Self.names))
        let ends = try await ends(client, after: number, count: 3)
        #expect(Set(ends) == ["b1", "b2", "b3"])
        #expect(ends.count == 3, "each once")
        for name in Self.names {
          let found = try #require(try await client.transfer(identifier: name))
          let result = try await found.result
          #expect(result.state == .completed)
          #expect(result.verified == .length)
          try program.fixture.work.expectWhole(name)
        }
      }
    }
  }

  /// The identifiers of the ends that are reported, with a check of the numbers.
  private func ends(_ client: TransferClient, after number: Int, count: Int) async throws
    -> [String]
  {
    var (ends, last): ([String], Int) = ([], number)
    for try await event in try await client.backgroundEvents(after: number) {
      guard case .transfer(let event) = event else {
        Issue.record("no reset: the daemon has the events")
        break
      }
      if let number = event.number {
        #expect(number == last + 1)
        last = number
      }
      if case .finished(let result) = event.kind {
        #expect(result.state == .completed)
        ends.append(event.identifier ?? "")
      }
      if ends.count == count { break }
    }
    return ends
  }

  @Test func `pause, resume, cancel and restart of a group reach both sides`() async throws {
    try await withProgram(Self.names, stalling: true) { (program) async throws in
      try await program.run { (client) async throws in
        let transfers = try await client.add(
          Self.names.map { try program.request($0, background: $0.hasPrefix("b")) })
        for name in Self.names { try await program.fixture.work.server.waitForHeld("/\(name)") }
        #expect(try await client.group("g").pause().refused.isEmpty)
        for transfer in transfers { #expect(try await transfer.state == .paused) }
        for name in Self.names { program.fixture.work.server.setFaults("/\(name)", []) }
        #expect(try await client.group("g").resume().refused.isEmpty)
        for transfer in transfers { #expect(try await transfer.result.state == .completed) }
        #expect(try await client.group("g").pause().refused.count == 5, "they are completed")
        try await client.group("g").restart()
        for transfer in transfers { #expect(try await transfer.result.reused == 0) }
        try await client.group("g").remove()
        #expect(try await client.transfers(group: "g").isEmpty)
      }
    }
  }

  @Test
  func `one transfer: success, failure and cancellation differ; a name is one transfer`()
    async throws
  {
    try await withProgram(["b1", "b2"], stalling: false) { (program) async throws in
      try await program.run { (client) async throws in
        let first = try await client.add(try program.request("b1", background: true))
        let again = try await client.add(try program.request("b1", background: true))
        #expect(first.id == again.id)
        #expect(try await first.result.bytes == Int64(CommandFixture.length))
        program.fixture.work.server.setFaults("/b2", [Fault(.status(404))])
        let failing = try await client.add(try program.request("b2", background: true))
        await #expect { try await failing.result } throws: {
          ($0 as? TransferError)?.code == .notFound
        }
        program.fixture.work.server.setFaults(
          "/b2", [Fault(.stall(after: CommandFixture.stallOffset))])
        try await failing.retry()
        try await failing.cancel()
        await #expect { try await failing.result } throws: {
          ($0 as? TransferError)?.code == .cancelled
        }
        await #expect { try await failing.pause() } throws: {
          ($0 as? TransferError)?.refusal == .isCancelled
        }
      }
    }
  }

  @Test
  func `a manager refuses a background transfer; without a daemon, the error says how to start it`()
    async throws
  {
    try await CommandFixture.with([]) { (work) async throws in
      let program = Program(fixture: DaemonFixture(work: work))
      try await program.run { (client) async throws in
        let request = try program.request("b1", background: true)
        await #expect { try await client.manager.add(request) } throws: {
          ($0 as? TransferError)?.code == .notYetSupported
        }
        await #expect { try await client.add(request) } throws: {
          let error = $0 as? TransferError
          return error?.code == .connect && error?.message.contains("haul daemon start") == true
        }
      }
    }
  }
}
