import CoreMetrics
import HaulControl
import HaulKit
import HTTPTypes
import Hummingbird

/// How long the calls of the control interface take, by route.
struct RequestMetrics: RouterMiddleware {
  typealias Context = ConnectionContext

  let registry: MetricsRegistry
  /// Reported with every response.
  let version: String

  func handle(
    _ request: Request, context: Context,
    next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    let start = ContinuousClock.now
    var response = try await next(request, context)
    if let field = HTTPField.Name(ControlClient.versionField) { response.headers[field] = version }
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    Timer(
      label: "haul_request_duration_seconds",
      dimensions: [
        ("method", request.method.rawValue), ("route", context.endpointPath ?? "none"),
        ("status", "\(response.status.code)"),
      ], factory: registry
    ).recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    return response
  }
}

extension ControlAPI {
  /// `GET /metrics`.
  func metrics() async -> Response {
    TransferMetricsCollector.record(await manager.counts, in: registry)
    return Response(
      status: .ok, headers: [.contentType: MetricsRegistry.contentType],
      body: ResponseBody(byteBuffer: ByteBuffer(string: registry.text)))
  }
}
