import HaulCore
import HaulKit
import HaulTesting
import Testing

/// By default, every case serves one resource under this path.
let resourcePath = "/file.bin"
let kibi: Int64 = 1024

extension FaultScript.Resource {
  /// The resource of a case: seed 7, with changes.
  static func file(
    _ length: Int64 = 512 * kibi, _ faults: Fault...,
    change: (inout FaultScript.Resource) -> Void = { _ in }
  ) -> FaultScript.Resource {
    FaultScript.Resource(resourcePath, seed: 7, length: length, faults: faults).with(change)
  }
}

extension Fault {
  /// Holds the first response, for `finishWithTwo`.
  static let firstHeld = Fault(.stall(after: 256 * kibi), when: .request(1))
}

extension DownloadFixture {
  /// Runs `body` with a server of one resource.
  static func serving(
    _ resource: FaultScript.Resource, _ body: (DownloadFixture) async throws -> Void
  ) async throws {
    try await with([resource], body)
  }

  /// A request for the resource of the case, with two retries and by default one connection.
  func file(
    connections: Int = 1, retries: Int = 2, _ change: (inout DownloadRequest) -> Void = { _ in }
  ) throws -> DownloadRequest {
    try request(resourcePath) { request in
      request.connections = connections
      request.retry.retries = retries
      change(&request)
    }
  }

  /// Runs the request until so many bytes are on disk, then pauses it; the server must hold the
  /// response there.
  func interrupt(_ request: DownloadRequest, at bytes: Int64 = 200 * kibi) async throws {
    let manager = try TransferManager()
    let events = manager.events()
    try await manager.add(request)
    var isThere = false
    events: for await event in events {
      switch event.kind {
      case .progress(let progress) where progress.bytes >= bytes:
        isThere = true
        break events
      case .finished: break events
      default: break
      }
    }
    await manager.shutdown()
    try #require(isThere, "it should have been interrupted")
    // A test that waits for a held response means that of the next run.
    try await server.waitUntil { $0.total.held == 0 }
    server.resetStatistics()
  }

  /// Runs the request to its end. The first response is held until there is a second request, or
  /// so many, of which all but two are refused.
  func finishWithTwo(
    _ request: DownloadRequest, path: String = resourcePath, of count: Int = 2
  ) async throws -> Outcome {
    async let outcome = finish(request)
    try await server.waitForRequests(count, path: path)
    server.release(path)
    return try await outcome
  }

  /// Runs the request to its end. Calls `steer` when so many bytes are on disk, with the count of
  /// its calls; then, for as many `times`, again after a restart. The server must hold the response
  /// there until then.
  func finish(
    _ request: DownloadRequest, at bytes: Int64 = 200 * kibi, times: Int = 1,
    steer: (Int) throws -> Void
  ) async throws -> Outcome {
    var (calls, isArmed) = (0, true)
    return try await finish(request) { kind in
      switch kind {
      case .phase(.restarted, _): isArmed = true
      case .progress(let progress) where isArmed && calls < times && progress.bytes >= bytes:
        // The last byte before a stall may arrive before the server counts it as held.
        try await server.waitForHeld(resourcePath)
        isArmed = false
        calls += 1
        try steer(calls)
      default: break
      }
    }
  }

  var requests: [RequestRecord] { server.snapshot.requests(resourcePath) }

  /// The requested ranges, in order; `-` for no range.
  var ranges: [String] { requests.map { $0.range ?? "-" } }

  /// Checks that the file is whole, and that there is no other.
  func expectWhole(
    _ outcome: Outcome, seed: UInt64 = 7, length: Int64 = 512 * kibi,
    at location: SourceLocation = #_sourceLocation
  ) throws {
    #expect(outcome.result.error == nil, sourceLocation: location)
    #expect(outcome.result.state == .completed, sourceLocation: location)
    try #require(try names() == ["file.bin"], sourceLocation: location)
    #expect(
      try isWhole("file.bin", seed: seed, length: Int(length)), "the bytes are wrong",
      sourceLocation: location)
  }

  /// Checks that it failed with this code, without a file under the final name.
  func expectFailure(
    _ outcome: Outcome, _ code: TransferError.Code, at location: SourceLocation = #_sourceLocation
  ) throws {
    #expect(outcome.result.state == .failed, sourceLocation: location)
    #expect(outcome.result.error?.code == code, sourceLocation: location)
    #expect(try !names().contains("file.bin"), sourceLocation: location)
  }
}

/// The digest of the seed-7 resource.
func rightChecksums(seed: UInt64 = 7, length: Int64 = 512 * kibi) -> [Checksum] {
  [Checksum(.sha256, bytes: SeededContent.sha256(seed: seed, length: length))].compactMap { $0 }
}
