import HaulControl
import HaulCore
import HaulKit
import HTTPTypes
import Hummingbird
import ServiceLifecycle

/// `POST /api/v1/probe`: asks a server for the name and the length of what may be added.
extension ControlAPI {
  /// The most that are answered at once.
  static let maximumProbes = 8
  /// How long one may take.
  private static let probeTime: Duration = .seconds(20)

  /// Ends at once when its client has gone: others may ask then.
  func probe(_ request: Request) async throws -> Response {
    let body = try await request.body(ProbeBody.self)
    var response: Response
    do {
      response = try await request.body.consumeWithCancellationOnInboundClose { _ in
        do {
          return try APIResponse.json(await probe(body))
        } catch let problem as Problem {
          return APIResponse.problem(problem)
        }
      }
    } catch is CancellationError {
      response = APIResponse.problem(
        Problem(503, "Service Unavailable", "the client has gone, or the daemon is ending"))
    }
    // Nothing more is read from this connection.
    response.headers[.connection] = "close"
    return response
  }

  /// It may ask what a transfer of the same client may ask, in the same way, and once.
  private func probe(_ body: ProbeBody) async throws -> ProbeDocument {
    guard probes.enter(atMost: Self.maximumProbes) else {
      throw Problem(
        503, "Service Unavailable",
        "\(Self.maximumProbes) servers are being asked already; try again in some seconds")
    }
    defer { probes.change(by: -1) }
    var request = DownloadRequest(url: body.url, to: .stream)
    (request.fields, request.roots) = (body.fields, roots?.paths)
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
