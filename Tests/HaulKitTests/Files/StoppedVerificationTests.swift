import HaulCore
import HaulFiles
import HaulHTTP
import HaulKit
import HaulTesting
import Testing

/// Commands while the digest is computed.
@Suite(.timeLimit(.minutes(10)))
struct StoppedVerificationTests {
  private static let length: Int64 = 6 << 20
  /// Few enough that they are not read back before the new ones have come, however long that takes.
  private static let old: Int64 = 3 << 20

  private func manager(_ disk: any Disk) throws -> (TransferManager, HTTPTransport) {
    let transport = try HTTPTransport(HTTPTransport.Settings())
    let engine = Engine(
      transport: transport, disk: disk, io: BlockingIO(), clock: SystemClock(),
      configuration: TransferManager.Configuration())
    return (TransferManager(engine: engine), transport)
  }

  @Test(arguments: [true, false])
  func `Case 3: a pause or a cancel during verification takes effect`(isPause: Bool) async throws {
    let held = FaultScript.Resource.file(Self.length, Fault(.stall(after: Self.old)))
    try await DownloadFixture.serving(held) { fixture in
      let request = try fixture.file { $0.checksums = rightChecksums(length: Self.length) }
      try await fixture.interrupt(request, at: Self.old)
      // The first byte that is read back is held, not the reads before the request.
      fixture.server.setFaults(resourcePath, [Fault(.stallBeforeHead)])
      let gate = ReadGate()
      gate.open()
      let disk = CountingDisk(POSIXDisk(), willRead: { gate.pass() })
      let (manager, transport) = try manager(disk)
      let transfer = try await manager.add(request)
      try await fixture.server.waitForHeld(resourcePath)
      gate.close()
      fixture.server.setFaults(resourcePath, [])
      fixture.server.release(resourcePath)
      try await until { gate.held > 0 }
      #expect(await transfer.summary?.state == .running)
      let before = disk.counter.bytesRead
      let stopped = isPause ? TransferState.paused : .cancelled
      async let command = isPause ? transfer.pause() : transfer.cancel()
      // The stop needs a few turns to reach the run: one read passes in every hundred.
      var turns = 0
      try await until {
        turns += 1
        if turns % 100 == 0 { gate.letOnePass() }
        return await transfer.summary?.state == stopped
      }
      gate.open()
      try await command
      #expect(disk.counter.bytesRead - before < Self.old, "it does not read to the end")
      if isPause {
        #expect(try fixture.names() == ["file.bin.haul.journal", "file.bin.haul.part"])
        try await transfer.resume()
        let result = try await transfer.result
        #expect(result.verified == .checksum)
        #expect(result.reused >= Self.old)
        #expect(try fixture.isWhole("file.bin", seed: 7, length: Int(Self.length)))
      } else {
        #expect(try fixture.names().isEmpty)
      }
      await manager.shutdown()
      await transport.shutdown()
    }
  }
}
