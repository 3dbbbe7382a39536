import HaulCore
import HaulFiles
import HaulHTTP
import HaulKit
import HaulTesting
import Testing

/// A digest is computed while the bytes arrive.
@Suite(.timeLimit(.minutes(10)))
struct IncrementalDigestTests {
  private static let length: Int64 = 8 << 20

  /// Runs the request on a disk that counts reads; `steer` is called with each event.
  private func run(
    _ request: DownloadRequest,
    steer: (TransferEvent.Kind, TransferManager) async throws -> Void = { _, _ in }
  ) async throws -> (result: TransferResult?, readBack: Int64) {
    let disk = CountingDisk(POSIXDisk())
    let transport = try HTTPTransport(HTTPTransport.Settings())
    let manager = TransferManager(
      engine: Engine(
        transport: transport, disk: disk, io: .withoutThreads, clock: SystemClock(),
        configuration: TransferManager.Configuration()))
    let events = manager.events()
    try await manager.add(request)
    var result: TransferResult?
    events: for await event in events {
      try await steer(event.kind, manager)
      switch event.kind {
      case .finished(let end):
        result = end
        break events
      case .paused: break events
      default: break
      }
    }
    await manager.shutdown()
    await transport.shutdown()
    return (result, disk.counter.bytesRead)
  }

  private func request(
    _ fixture: DownloadFixture, connections: Int = 1, seed: UInt64 = 7
  ) throws -> DownloadRequest {
    try fixture.file(connections: connections) {
      $0.checksums = rightChecksums(seed: seed, length: Self.length)
    }
  }

  @Test func `With one connection no byte is read back`() async throws {
    try await DownloadFixture.serving(.file(Self.length)) { fixture in
      let (result, readBack) = try await run(try request(fixture))
      #expect(result?.verified == .checksum)
      #expect(readBack == 0)
      #expect(try fixture.isWhole("file.bin", seed: 7, length: Int(Self.length)))
    }
  }

  @Test func `With several, only bytes out of order are read back`() async throws {
    // The first connection receives a megabyte in order, the others some bytes out of order; then
    // all continue.
    let first = Fault(.stall(after: 1 << 20), when: .request(1))
    let others = Fault(.stall(after: 1 << 10), when: .init(firstRequest: 2))
    try await DownloadFixture.serving(.file(Self.length, first, others)) { fixture in
      let server = fixture.server
      var isHeld = true
      let (result, readBack) = try await run(try request(fixture, connections: 4)) { kind, _ in
        guard isHeld, case .progress(let progress) = kind, progress.bytes > 1 << 20 else { return }
        isHeld = false
        server.setFaults(resourcePath, [])
        try await server.waitUntil { $0.held(resourcePath) == $0.inProgress(resourcePath) }
        server.release(resourcePath)
      }
      #expect(result?.verified == .checksum)
      #expect(readBack > 0)
      #expect(readBack <= Self.length - (1 << 20) + (3 << 10))
    }
  }

  @Test func `A digest that the server announces is computed in the same way`() async throws {
    try await DownloadFixture.serving(.file(Self.length, Fault(.digest()))) { fixture in
      let (result, readBack) = try await run(try fixture.file())
      #expect(result?.verified == .checksum)
      #expect(result?.checksums == rightChecksums(length: Self.length))
      #expect(readBack == 0)
    }
  }

  @Test(arguments: [1, 4])
  func `A wrong digest fails the file`(connections: Int) async throws {
    try await DownloadFixture.serving(.file(Self.length)) { fixture in
      let (result, _) = try await run(try request(fixture, connections: connections, seed: 8))
      #expect(result?.error?.code == .checksumMismatch)
      #expect(try fixture.names() == ["file.bin.haul.journal", "file.bin.haul.part"])
    }
  }

  /// Pauses a run that the server holds at 3 MiB.
  private func interrupt(_ fixture: DownloadFixture, _ request: DownloadRequest) async throws {
    fixture.server.setFaults(
      resourcePath, fixture.server.script.resources[0].faults + [Fault(.stall(after: 3 << 20))])
    let (result, _) = try await run(request) { kind, manager in
      guard case .progress(let progress) = kind, progress.bytes >= 3 << 20 else { return }
      await manager.pauseAll()
    }
    #expect(result == nil)
  }

  @Test
  func `After a pause, old bytes are read from the disk, and new ones are hashed as they come`()
    async throws
  {
    try await DownloadFixture.serving(.file(Self.length)) { fixture in
      try await interrupt(fixture, try request(fixture))
      fixture.server.setFaults(resourcePath, [])
      let (result, readBack) = try await run(try request(fixture))
      #expect(result?.verified == .checksum)
      #expect(result?.reused == 3 << 20)
      #expect(readBack >= 3 << 20)
      #expect(try fixture.isWhole("file.bin", seed: 7, length: Int(Self.length)))
    }
  }

  @Test func `Wrong old bytes on the disk are detected when the file is resumed`() async throws {
    try await DownloadFixture.serving(.file(Self.length)) { fixture in
      try await interrupt(fixture, try request(fixture))
      try fixture.damage("file.bin.haul.part", at: 100)
      fixture.server.setFaults(resourcePath, [])
      let (result, _) = try await run(try request(fixture))
      // Either the claim is invalid and the bytes are fetched again, or the digest detects it.
      if result?.state == .completed {
        #expect(try fixture.isWhole("file.bin", seed: 7, length: Int(Self.length)))
      } else {
        #expect(result?.error?.code == .checksumMismatch)
      }
    }
  }

  @Test
  func `A digest announced in one run is checked in the next, whose answer has none`() async throws
  {
    let wrong = Fault(.digest(field: .repr, wrong: true))
    try await DownloadFixture.serving(.file(Self.length, wrong)) { fixture in
      try await interrupt(fixture, try fixture.file())
      fixture.server.setFaults(resourcePath, [])
      let (result, _) = try await run(try fixture.file())
      #expect(result?.error?.code == .checksumMismatch)
    }
  }

  @Test func `Another version begins a new digest`() async throws {
    try await DownloadFixture.serving(.file(Self.length)) { fixture in
      try await interrupt(fixture, try request(fixture, seed: 8))
      fixture.server.setFaults(resourcePath, [])
      fixture.server.replaceContent(resourcePath, seed: 8)
      let (result, readBack) = try await run(try request(fixture, seed: 8))
      #expect(result?.verified == .checksum)
      // At most the bytes on disk before the change was noticed.
      #expect(readBack <= 3 << 20)
      #expect(try fixture.isWhole("file.bin", seed: 8, length: Int(Self.length)))
    }
  }
}

extension DownloadFixture {
  /// Flips one byte of a file.
  fileprivate func damage(_ name: String, at offset: Int) throws {
    var bytes = try contents(name)
    bytes[offset] ^= 0xFF
    try put(bytes, as: name)
  }
}
