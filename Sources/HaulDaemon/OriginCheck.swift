import HaulControl
import HTTPTypes
import Hummingbird

/// Refuses what a browser sends on behalf of a page: the control interface has no pages of its own.
struct OriginCheck: RouterMiddleware {
  typealias Context = BasicRequestContext

  func handle(
    _ request: Request, context: Context,
    next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    guard request.head.authority == "localhost" else {
      throw Problem(421, "Misdirected Request", "the Host of this interface is localhost")
    }
    let site = HTTPField.Name("Sec-Fetch-Site").flatMap { request.headers[$0] }
    guard request.headers[.origin] == nil, site == nil || site == "none" else {
      throw Problem(403, "Forbidden", "web pages may not use this interface")
    }
    return try await next(request, context)
  }
}
