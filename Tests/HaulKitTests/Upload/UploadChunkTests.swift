import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// How much of a file an upload gives to its connection at once.
@Suite(.timeLimit(.minutes(10))) struct UploadChunkTests {
  private static let fastBytes = 40 << 20

  /// A server that takes the first bytes at once, and each later chunk only after a second.
  private final class SlowingServer: Transport {
    let clock = ManualClock()
    private let taken = NIOLockedValueBox<[Int]>([])

    /// The lengths of the chunks, in order.
    var chunks: [Int] { taken.withLockedValue { $0 } }

    func fetch(_ request: FetchRequest) async throws -> FetchResponse {
      throw TransferError(.notYetSupported, "this server only takes uploads")
    }

    func send(_ request: SendRequest) async throws -> SendResponse {
      if let body = request.body {
        for try await chunk in body {
          taken.withLockedValue { $0.append(chunk.count) }
          if chunks.reduce(0, +) >= fastBytes { clock.advance(by: .seconds(1)) }
        }
      }
      return SendResponse(
        head: ResponseHead(status: 201, headers: HeaderFields(), url: request.url))
    }
  }

  @Test func `A connection that stays fast gets larger chunks, until it slows`() async throws {
    let (disk, server) = (SimulatedDisk(), SlowingServer())
    disk.makeDirectory("/d")
    disk.put([UInt8](repeating: 7, count: Self.fastBytes + (4 << 20)), at: "/d/f")
    let manager = try TransferManager(
      testing: .init(), transport: server, disk: disk, clock: server.clock)
    let transfer = try await manager.add(.upload("/d/f", to: ResourceURL("http://h.example/f")))
    #expect(try await transfer.result.state == .completed)
    await manager.shutdown()

    let chunks = server.chunks
    #expect(chunks.reduce(0, +) == Self.fastBytes + (4 << 20))
    // So much fits into the buffers of a slow connection.
    #expect(chunks.prefix(64).allSatisfy { $0 == 256 << 10 })
    #expect((600 << 10...(640 << 10)).contains(chunks.max() ?? 0))
    // A slow connection must take each chunk within the idle timeout.
    #expect(chunks.suffix(12).allSatisfy { $0 <= 256 << 10 })
  }
}
