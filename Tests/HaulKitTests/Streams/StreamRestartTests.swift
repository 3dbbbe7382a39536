import HaulCore
import HaulKit
import HaulTesting
import Testing

/// A stream that starts over is read anew.
@Suite(.timeLimit(.minutes(10)))
struct StreamRestartTests {
  private static let length: Int64 = 1 << 20

  @Test(arguments: [true, false])
  func `After a pause and a resume, or after requeueing, from its first byte`(isPause: Bool)
    async throws
  {
    let held = FaultScript.Resource.file(Self.length, Fault(.stall(after: 100_000)))
    try await DownloadFixture.serving(held) { fixture in
      let manager = try TransferManager()
      let transfer = try await manager.add(try fixture.stream())
      let first = try await manager.bytes(of: transfer)
      try await fixture.server.waitForHeld(resourcePath)
      fixture.server.setFaults(resourcePath, [])
      if isPause {
        try await transfer.pause()
        try await transfer.resume()
      } else {
        try await transfer.requeue()
      }
      await #expect(throws: TransferError.self) { for try await _ in first {} }
      // It runs again after it has stopped.
      var second: TransferBytes?
      try await until {
        second = try? await manager.bytes(of: transfer)
        return second != nil
      }
      var received: [UInt8] = []
      for try await chunk in try #require(second) { received += chunk.bytes }
      #expect(SeededContent.matches(seed: 7, received))
      #expect(received.count == Int(Self.length))
      #expect(try await transfer.result.state == .completed)
      await manager.shutdown()
    }
  }
}
