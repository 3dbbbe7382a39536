import FoundationEssentials
import HaulCore
import HaulFiles
import HaulLibC
import HaulTesting
import NIOConcurrencyHelpers
import Testing

@Suite struct DiskRefusalTests {
  private static let why: Comment = "needs the right to mount a small file system"
  private static let file = FaultScript.Resource("/f.bin", seed: 61, length: 2 << 20)

  @Test(.enabled(if: SmallDisk.isPossible, why))
  func `A disk that fills up midway fails the download, which resumes with more room`() async throws
  {
    let unannounced = Self.file.with {
      $0.faults = [Fault(.ignoreRange, .chunked(), when: .request(1))]
    }
    try await DownloadFixture.with([unannounced]) { fixture in
      try await fixture.withSmallDisk(bytes: 1 << 20) { disk in
        let request = try fixture.request("/f.bin", as: "small/f.bin")
        let first = try await fixture.finish(request)
        try fixture.expectFailure(.diskFull, first)
        let names = try FileManager.default.contentsOfDirectory(atPath: disk).sorted()
        #expect(names == ["f.bin.haul.journal", "f.bin.haul.part"])
        try #require(SmallDisk.resize(disk, bytes: 8 << 20))
        let second = try await fixture.finish(request)
        try fixture.expectWhole("small/f.bin", seed: 61, length: 2 << 20, second)
        #expect(second.result.reused > 0, "bytes written before the disk was full are kept")
      }
    }
  }

  @Test(.enabled(if: SmallDisk.isPossible, why), .timeLimit(.minutes(10)))
  func `A length that does not fit is refused before the body, and leaves nothing`() async throws {
    // The server sends the head and no body byte, so only the length decides.
    let headOnly = Self.file.with { $0.faults = [Fault(.stall(after: 0))] }
    try await DownloadFixture.with([headOnly]) { fixture in
      try await fixture.withSmallDisk(bytes: 1 << 20) { disk in
        let outcome = try await fixture.finish(try fixture.request("/f.bin", as: "small/f.bin"))
        try fixture.expectFailure(.diskFull, outcome)
        #expect(outcome.result.fetched == 0)
        #expect(outcome.attempts == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk).isEmpty)
        // On the server: one request, no body byte, and the client has disconnected.
        try await fixture.server.waitUntil { $0.total.inProgress == 0 }
        let requests = fixture.server.snapshot.requests
        #expect(requests.map(\.bodyBytesSent) == [0])
        #expect(requests.map(\.outcome) == [.abandoned])
      }
    }
  }

  @Test(.timeLimit(.minutes(10)))
  func `An announced length takes no space, and a pause leaves only what has arrived`() async throws
  {
    let announced = FaultScript.Resource(
      "/f.bin", seed: 61, length: 1 << 30, faults: [Fault(.stall(after: 1_000))])
    try await DownloadFixture.with([announced]) { fixture in
      let disk = try POSIXDisk().openDirectory(fixture.directory, creating: false)
      @Sendable func allocated() throws -> Int64 {
        try disk.status(of: "f.bin.haul.part")?.allocated ?? 0
      }
      let whileStalled = NIOLockedValueBox<Int64>(0)
      let paused = try await fixture.run(
        fixture.request("/f.bin"),
        interruption: {
          try await until { try allocated() > 0 }
          let space = try allocated()
          whileStalled.withLockedValue { $0 = space }
        })
      #expect(paused == nil)
      #expect(whileStalled.withLockedValue { $0 } < 16 << 20)
      #expect(try allocated() < 1 << 20)
    }
  }

  @Test(.enabled(if: SmallDisk.isPossible, why))
  func `An endless body stops when the disk is full`() async throws {
    let endless = Self.file.with { $0.faults = [Fault(.ignoreRange, .endless())] }
    try await DownloadFixture.with([endless]) { fixture in
      try await fixture.withSmallDisk(bytes: 1 << 20) { _ in
        let outcome = try await fixture.finish(try fixture.request("/f.bin", as: "small/f.bin"))
        try fixture.expectFailure(.diskFull, outcome)
      }
    }
  }

  @Test(.enabled(if: SmallDisk.isPossible, why))
  func `A read-only file system is refused before any request`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      try await fixture.withSmallDisk(bytes: 1 << 20, isReadOnly: true) { _ in
        let outcome = try await fixture.finish(try fixture.request("/f.bin", as: "small/f.bin"))
        try fixture.expectFailure(.permissionDenied, outcome)
        #expect(fixture.server.snapshot.requests.isEmpty)
      }
    }
  }

  @Test(.enabled(if: !SmallDisk.isAllMighty, "this process may write anywhere"))
  func `A directory without write permission is refused before any request`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      try FileManager.default.createDirectory(
        atPath: fixture.path("closed"), withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o500])
      let outcome = try await fixture.finish(try fixture.request("/f.bin", as: "closed/f.bin"))
      try fixture.expectFailure(.permissionDenied, outcome)
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test(arguments: [
    (String(repeating: "n", count: 300), TransferError.Code.badName),
    ("plain/f.bin", .notARegularFile), ("circle/f.bin", .notARegularFile), ("missing/f.bin", .io),
    ("there/..", .notARegularFile), ("there/", .notARegularFile),
  ])
  func `An impossible path is refused before any request`(
    name: String, code: TransferError.Code
  ) async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      try fixture.put([1], as: "plain")
      try FileManager.default.createDirectory(
        atPath: fixture.path("there"), withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(
        atPath: fixture.path("circle"), withDestinationPath: fixture.path("circle"))
      let before = try fixture.names()
      try fixture.expectFailure(
        code, try await fixture.finish(try fixture.request("/f.bin", as: name)))
      #expect(fixture.server.snapshot.requests.isEmpty)
      #expect(try fixture.names() == before)
    }
  }

  @Test func `A directory, symlink, FIFO or device is refused and not changed`() async throws {
    try await DownloadFixture.with([Self.file]) { fixture in
      try fixture.put([7, 7, 7], as: "target")
      try FileManager.default.createDirectory(
        atPath: fixture.path("directory"), withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(
        atPath: fixture.path("link"), withDestinationPath: fixture.path("target"))
      try FileManager.default.createSymbolicLink(
        atPath: fixture.path("dangling"), withDestinationPath: fixture.path("nowhere"))
      try #require(mkfifo(fixture.path("fifo"), 0o600) == 0)
      let before = try fixture.names()
      for ifExists in DownloadRequest.IfExists.allCases {
        for name in ["directory", "link", "dangling", "fifo"] {
          let request = try fixture.request("/f.bin", as: name) { $0.ifExists = ifExists }
          try fixture.expectFailure(.notARegularFile, try await fixture.finish(request))
        }
        var device = try fixture.request("/f.bin") { $0.ifExists = ifExists }
        device.destination = .file("/dev/null")
        try fixture.expectFailure(.notARegularFile, try await fixture.finish(device))
      }
      #expect(fixture.server.snapshot.requests.isEmpty)
      #expect(try fixture.names() == before)
      #expect(try fixture.contents("target") == [7, 7, 7])
    }
  }
}
