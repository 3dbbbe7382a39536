import HaulControl
import HTTPTypes
import Hummingbird
import NIOConcurrencyHelpers

/// Refuses what a browser sends on behalf of a page of another site, also by a name that was made
/// to point to this machine.
struct OriginCheck: RouterMiddleware {
  typealias Context = BasicRequestContext

  /// What `Host` may be.
  let hosts: AllowedHosts

  func handle(
    _ request: Request, context: Context,
    next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    guard let host = request.head.authority, hosts.contains(host) else {
      throw Problem(
        421, "Misdirected Request", "the Host of this interface is \(hosts.description)")
    }
    let site = HTTPField.Name("Sec-Fetch-Site").flatMap { request.headers[$0] }
    guard request.headers[.origin] == nil, site == nil || site == "none" else {
      throw Problem(403, "Forbidden", "web pages may not use this interface")
    }
    return try await next(request, context)
  }
}

/// The names of this interface; over TCP they are known once the port is.
final class AllowedHosts: Sendable {
  private let names: NIOLockedValueBox<[String]>

  init(_ names: [String] = []) { self.names = NIOLockedValueBox(names) }

  func set(_ new: [String]) { names.withLockedValue { $0 = new } }
  func contains(_ host: String) -> Bool { names.withLockedValue { $0.contains(host) } }
  var description: String { names.withLockedValue { $0.joined(separator: " or ") } }
}

/// Lets only those in that have the token. It is never read from an address, which logs keep.
struct TokenCheck: RouterMiddleware {
  typealias Context = BasicRequestContext

  let token: ControlToken

  func handle(
    _ request: Request, context: Context,
    next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    let words = request.headers[.authorization]?.split(separator: " ") ?? []
    guard words.count == 2, words[0].lowercased() == "bearer", token.matches(words[1]) else {
      var response = Answer.problem(
        Problem(
          401, "Unauthorized", "send 'Authorization: Bearer TOKEN', with the token of the daemon"))
      response.headers[.wwwAuthenticate] = "Bearer"
      return response
    }
    return try await next(request, context)
  }
}
