import FoundationEssentials
import HaulCore
import HaulFiles
import HaulHTTP
import HaulKit
import HaulTesting
import Testing

/// Full and missing file systems of this machine, and a queue that waits for them, with a clock
/// that the test moves.
@Suite struct DiskWaitTests {
  private static let why: Comment = "needs the right to mount a small file system"
  private static let length = 2 << 20

  /// A queue with the real disk and the real network.
  private struct Waiting {
    let fixture: DownloadFixture
    let manager: TransferManager
    let log: EventLog
    let clock: ManualClock

    func add(_ name: String, as path: String) async throws -> Transfer {
      try await manager.add(try fixture.request("/\(name)", as: path) { $0.connections = 1 })
    }

    /// Lets time pass until the next check, once it is waited for.
    func look() async throws {
      try await until { clock.sleeperCount > 0 }
      clock.advance(by: WaitMonitor.period)
    }
  }

  private func with(
    _ resources: [FaultScript.Resource], _ body: (Waiting) async throws -> Void
  ) async throws {
    try await DownloadFixture.with(resources) { fixture in
      let (clock, http) = (ManualClock(), try HTTPTransport(.init()))
      var configuration = TransferManager.Configuration()
      configuration.maximumActive = 1
      let engine = Engine(
        transport: http, disk: POSIXDisk(), io: .withoutThreads, clock: clock,
        configuration: configuration, seed: 61)
      let manager = TransferManager(engine: engine)
      let waiting = Waiting(
        fixture: fixture, manager: manager, log: EventLog(of: manager), clock: clock)
      do {
        try await body(waiting)
      } catch {
        await manager.shutdown()
        await http.shutdown()
        throw error
      }
      await manager.shutdown()
      await http.shutdown()
    }
  }

  private static func file(_ name: String) -> FaultScript.Resource {
    .init("/\(name)", seed: 61, length: Int64(length))
  }

  private static func waits(_ history: History, _ transfer: Transfer, _ text: String) -> Bool {
    history.reasons(of: transfer).contains { $0.text(at: 0).contains(text) }
  }

  @Test(.enabled(if: SmallDisk.isPossible, why), .timeLimit(.minutes(10)))
  func `A full disk delays only transfers on that disk, and they resume by themselves`()
    async throws
  {
    try await with([Self.file("f"), Self.file("g")]) { queue in
      try await queue.fixture.withSmallDisk(bytes: 1 << 20) { disk in
        let large = try await queue.add("f", as: "small/f")
        try await queue.log.wait { Self.waits($0, large, "1.0 MiB free, 2.0 MiB needed") }
        let elsewhere = try await queue.add("g", as: "g")
        _ = try await elsewhere.result
        #expect(await large.summary?.state == .queued)
        try #require(SmallDisk.resize(disk, bytes: 64 << 20))
        try await queue.look()
        _ = try await large.result
        #expect(try queue.fixture.isWhole("small/f", seed: 61, length: Self.length))
      }
    }
  }

  @Test(.enabled(if: SmallDisk.isPossible, why), .timeLimit(.minutes(10)))
  func `A body of unknown length that fills the disk resumes from its bytes`() async throws {
    let unannounced = Self.file("f").with {
      $0.faults = [Fault(.ignoreRange, .chunked(), when: .request(1))]
    }
    try await with([unannounced]) { queue in
      try await queue.fixture.withSmallDisk(bytes: 1 << 20) { disk in
        let transfer = try await queue.add("f", as: "small/f")
        try await queue.log.wait { Self.waits($0, transfer, "the disk is full") }
        let names = try FileManager.default.contentsOfDirectory(atPath: disk).sorted()
        #expect(names == ["f.haul.journal", "f.haul.part"])
        try #require(SmallDisk.resize(disk, bytes: 64 << 20))
        try await queue.look()
        let result = try await transfer.result
        #expect(result.reused > 0)
        #expect(try queue.fixture.isWhole("small/f", seed: 61, length: Self.length))
      }
    }
  }

  @Test(.enabled(if: SmallDisk.isPossible, why), .timeLimit(.minutes(10)))
  func `A transfer that waits for a full disk can be cancelled, and its bytes are deleted`()
    async throws
  {
    let endless = Self.file("f").with { $0.faults = [Fault(.ignoreRange, .endless())] }
    try await with([endless]) { queue in
      try await queue.fixture.withSmallDisk(bytes: 1 << 20) { disk in
        let transfer = try await queue.add("f", as: "small/f")
        try await queue.log.wait { Self.waits($0, transfer, "the disk is full") }
        try await transfer.cancel()
        #expect(await transfer.summary?.state == .cancelled)
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk).isEmpty)
      }
    }
  }

  @Test(.enabled(if: SmallDisk.isPossible, why), .timeLimit(.minutes(10)), arguments: ["", "/sub"])
  func `A missing file system is waited for, and nothing is created in its place`(
    sub: String
  ) async throws {
    try await with([.stalling("/f", seed: 61)]) { queue in
      try await queue.fixture.withSmallDisk(bytes: 64 << 20) { disk in
        let mountPoint = queue.fixture.path("mounted")
        for path in [mountPoint, disk + sub] {
          try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
        }
        try #require(SmallDisk.bind(disk, to: mountPoint))
        defer { _ = SmallDisk.remove(mountPoint) }
        let request = try queue.fixture.request("/f") {
          $0.destination = .directory(mountPoint + sub)
          $0.connections = 1
        }
        let transfer = try await queue.manager.add(request)
        try await queue.fixture.server.waitForHeld("/f")
        try await until { try Self.names(in: disk + sub).count == 2 }
        try await transfer.pause()
        try #require(SmallDisk.remove(mountPoint), "a paused transfer keeps no file system busy")
        try await transfer.resume()
        try await queue.log.wait {
          $0.reasons(of: transfer).contains { $0.code == "directory-missing" }
        }
        #expect(try Self.names(in: mountPoint).isEmpty)
        try await queue.look()
        #expect(await transfer.summary?.state == .queued)
        try #require(SmallDisk.bind(disk, to: mountPoint))
        queue.fixture.server.setFaults("/f", [])
        try await queue.look()
        let result = try await transfer.result
        #expect(result.reused > 0)
        #expect(try queue.fixture.isWhole("mounted\(sub)/f", seed: 61, length: Self.length))
      }
    }
  }

  private static func names(in path: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path)
  }
}
