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
  private(set) var filter = TransferFilter()
  private(set) var fromEnd = false
  private(set) var limit = 100

  /// - Throws: `Problem` for an unknown key, one that is given twice, or a wrong value.
  init(_ parameters: Parameters) throws(Problem) {
    var seen: Set<Substring> = []
    for (key, value) in parameters {
      guard seen.insert(key).inserted else { throw .badRequest("'\(key)' is given twice") }
      switch key {
      case "after": after = String(value)
      case "group": filter.group = String(value)
      case "host": filter.host = String(value)
      case "state":
        for name in value.byteSplit(separator: ",", omittingEmptySubsequences: false) {
          guard let state = TransferState(rawValue: String(name)) else {
            let known = TransferState.allCases.map(\.rawValue).joined(separator: ", ")
            throw .badRequest("'state' has some of \(known), with commas between them")
          }
          filter.states.insert(state)
        }
      case "from":
        guard value == "start" || value == "end" else {
          throw .badRequest("'from' is start or end")
        }
        fromEnd = value == "end"
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
