import FoundationEssentials
import HaulCore
import HaulKit
import HaulTesting
import Testing

extension DownloadFixture.Outcome {
  var code: TransferError.Code? { result.error?.code }
}

extension DownloadFixture {
  /// Checks that a run completed, and that the file equals the content of that seed and length,
  /// byte for byte.
  func expectWhole(
    _ name: String, seed: UInt64, length: Int, _ outcome: Outcome?,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let result = outcome?.result
    #expect(
      result?.state == .completed, "\(String(describing: result))", sourceLocation: sourceLocation)
    #expect(result?.bytes == Int64(length), sourceLocation: sourceLocation)
    #expect(
      try isWhole(name, seed: seed, length: length), "the content is another",
      sourceLocation: sourceLocation)
  }

  /// Checks that a run failed with that code, without a file under the final name.
  func expectFailure(
    _ code: TransferError.Code, _ outcome: Outcome?, without name: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let result = outcome?.result
    #expect(
      result?.state == .failed, "\(String(describing: result))", sourceLocation: sourceLocation)
    #expect(
      result?.error?.code == code, "\(String(describing: result?.error))",
      sourceLocation: sourceLocation)
    if let name {
      #expect(try !names().contains(name), sourceLocation: sourceLocation)
    }
  }

  /// Runs a request until a stall holds two of its connections, then pauses it. The first has
  /// received bytes by then; otherwise there would be no second one.
  func interrupt(_ request: DownloadRequest, path: String) async throws {
    let server = server
    let outcome = try await run(
      request, interruption: { try await server.waitForHeld(path, count: 2) })
    #expect(outcome == nil, "the run should have paused")
  }

  func put(_ bytes: [UInt8], as name: String) throws {
    try Data(bytes).write(to: URL(filePath: path(name)))
  }

  func path(_ name: String) -> String { "\(directory)/\(name)" }
}

extension FaultScript.Resource {
  /// A resource of 2 MiB; every response of it stalls after 256 KiB.
  static func stalling(_ path: String, seed: UInt64) -> Self {
    .init(path, seed: seed, length: 2 << 20, faults: [Fault(.stall(after: 256 << 10))])
  }
}

/// The error of a call; nil if it throws none, or one of another type.
func refusal(_ body: () async throws -> Void) async -> TransferError? {
  do {
    try await body()
    return nil
  } catch { return error as? TransferError }
}
