import HaulControl
import HaulCore
import Hummingbird

/// Refuses what would be ignored: a query where none is read, and an empty part of a path, without
/// which the router would call another operation (`/transfers/` lists them all).
struct AddressCheck: RouterMiddleware {
  typealias Context = ConnectionContext

  func handle(
    _ request: Request, context: Context,
    next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    let path = request.uri.path
    guard !path.hasBytes("//"), path == "/" || !path.hasByteSuffix("/") else {
      throw Problem.notFound("a part of the address is empty: \(request.uri.path)")
    }
    let hasQuery = ["/api/v1/transfers", "/api/v1/files", "/api/v1/space"]
      .contains(request.uri.path)
    guard request.method == .get && hasQuery || request.uri.query == nil else {
      throw Problem.badRequest("this call has no parameters in its query")
    }
    return try await next(request, context)
  }
}

/// The query of `GET /api/v1/transfers`.
struct TransferListQuery {
  private(set) var after: String?
  private(set) var group: String?
  private(set) var limit = 100

  /// - Throws: `Problem` for an unknown key, one that is given twice, or a wrong value.
  init(_ parameters: Parameters) throws(Problem) {
    var seen: Set<Substring> = []
    for (key, value) in parameters {
      guard seen.insert(key).inserted else { throw .badRequest("'\(key)' is given twice") }
      switch key {
      case "after": after = String(value)
      case "group": group = String(value)
      case "limit":
        guard let number = Int(value), (1...ControlAPI.maximumPage).contains(number) else {
          throw .badRequest("'limit' is a number from 1 to \(ControlAPI.maximumPage)")
        }
        limit = number
      default: throw .badRequest("there is no parameter '\(key)'")
      }
    }
  }
}
