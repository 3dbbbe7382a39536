import HaulControl
import HaulCore
import HaulKit
import ServiceLifecycle

/// `POST /api/v1/probe`: asks a server for the name and the length of what may be added.
extension ControlAPI {
  /// The most that are answered at once.
  static let maximumProbes = 8
  /// How long one may take.
  private static let probeTime: Duration = .seconds(20)

  /// It may ask what a transfer of the same client may ask, in the same way, and once.
  func probe(_ body: ProbeBody) async throws -> ProbeDocument {
    guard probes.enter(atMost: Self.maximumProbes) else {
      throw Problem(
        503, "Service Unavailable",
        "\(Self.maximumProbes) servers are being asked already; try again in some seconds")
    }
    defer { probes.change(by: -1) }
    var request = DownloadRequest(url: body.url, to: .stream)
    (request.headers, request.roots) = (body.fields, roots?.paths)
    request.usesSuggestedName = body.usesSuggestedName
    request.retry.retries = 0
    let result: ProbeResult
    do {
      result = try await cancelWhenGracefulShutdown { [request] in try await ask(request) }
    } catch let error as TransferError {
      throw Problem(502, "Bad Gateway", error.message, code: error.code.rawValue)
    }
    return ProbeDocument(
      url: result.finalURL.redacted, name: result.fileName, size: result.length,
      ranges: result.servesRanges, resumes: result.plan.resumes, type: result.contentType)
  }

  private func ask(_ request: DownloadRequest) async throws -> ProbeResult {
    try await withThrowingTaskGroup(of: ProbeResult.self) { group in
      group.addTask { [manager] in try await manager.probe(request) }
      group.addTask {
        try await Task.sleep(for: Self.probeTime)
        throw Problem(
          504, "Gateway Timeout",
          "the server has not answered in \(Self.probeTime.components.seconds) s")
      }
      defer { group.cancelAll() }
      guard let result = try await group.next() else { throw CancellationError() }
      return result
    }
  }
}
