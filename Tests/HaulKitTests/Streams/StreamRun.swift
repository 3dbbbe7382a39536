import HaulCore
import HaulKit
import HaulTesting
import Testing

/// A manager with one requested stream.
struct StreamRun: Sendable {
  let manager: TransferManager
  let bytes: TransferBytes
  private let events: TransferEvents

  /// What the reader got, and how the transfer ended.
  struct Outcome: Sendable {
    var received: [UInt8] = []
    /// The error after the last byte.
    var error: TransferError?
    var result: TransferResult?
    var attempts = 0
    var restarts = 0

    /// Whether the reader got so many bytes of this content from its start.
    func isBeginning(seed: UInt64, count: Int64) -> Bool {
      received.count == Int(count) && SeededContent.matches(seed: seed, received)
    }
  }

  init(
    _ request: DownloadRequest, window: Int64 = 32 << 20, idleTimeout: Duration = .seconds(120)
  ) async throws {
    var configuration = TransferManager.Configuration()
    configuration.idleTimeout = idleTimeout
    configuration.streamWindow = window
    manager = try TransferManager(configuration)
    events = manager.events()
    bytes = try await manager.bytes(of: try await manager.add(request))
  }

  /// Reads to the end; `step` is called with the number of bytes after each chunk.
  func finish(_ step: (Int) async throws -> Void = { _ in }) async throws -> Outcome {
    var outcome = Outcome()
    do {
      for try await chunk in bytes {
        outcome.received += chunk.bytes
        try await step(outcome.received.count)
      }
    } catch let error as TransferError {
      outcome.error = error
    }
    for await event in events {
      switch event.kind {
      case .attempt: outcome.attempts += 1
      case .phase(.restarted, _): outcome.restarts += 1
      case .finished(let result): outcome.result = result
      default: break
      }
      if outcome.result != nil { break }
    }
    await manager.shutdown()
    return outcome
  }
}

extension DownloadFixture {
  /// A request for the resource of a case, as a stream.
  func stream(
    connections: Int = 1, retries: Int = 2, _ change: (inout DownloadRequest) -> Void = { _ in }
  ) throws -> DownloadRequest {
    try file(connections: connections, retries: retries) { request in
      request.destination = .stream
      change(&request)
    }
  }

  /// Checks that the reader got everything, and that no file remains.
  func expectWhole(
    _ outcome: StreamRun.Outcome, length: Int64 = 512 * kibi,
    at location: SourceLocation = #_sourceLocation
  ) throws {
    #expect(outcome.error == nil, sourceLocation: location)
    #expect(outcome.result?.state == .completed, sourceLocation: location)
    #expect(outcome.result?.bytes == length, sourceLocation: location)
    #expect(outcome.isBeginning(seed: 7, count: length), sourceLocation: location)
    #expect(try names().isEmpty, sourceLocation: location)
  }
}
