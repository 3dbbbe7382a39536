import HaulControl
import HTTPTypes
import HaulCore
import Hummingbird
import NIOConcurrencyHelpers

/// Refuses requests that a browser sends for a page of another site, also after DNS rebinding.
struct OriginCheck: RouterMiddleware {
  typealias Context = BasicRequestContext

  /// The accepted values of `Host`.
  let hosts: AllowedHosts
  /// Whether the page is served here: then requests of that page are accepted.
  var servesPage = false

  func handle(
    _ request: Request, context: Context,
    next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    guard let host = request.head.authority, hosts.contains(host) else {
      throw Problem(
        421, "Misdirected Request", "the Host of this interface is \(hosts.description)")
    }
    guard isOwnOrigin(request.headers, host), isOwnSite(request.headers) else {
      throw Problem(403, "Forbidden", "pages of other sites may not use this interface")
    }
    return try await next(request, context)
  }

  private func isOwnOrigin(_ headers: HTTPFields, _ host: String) -> Bool {
    let origins = headers[values: .origin]
    return origins.isEmpty || servesPage && origins == ["http://\(host)"]
  }

  private func isOwnSite(_ headers: HTTPFields) -> Bool {
    let sites = HTTPField.Name("Sec-Fetch-Site").map { headers[values: $0] } ?? []
    return sites.isEmpty || sites == ["none"] || servesPage && sites == ["same-origin"]
  }
}

/// The names of this interface; over TCP they are known once the port is.
final class AllowedHosts: Sendable {
  private let state: NIOLockedValueBox<(names: [String], port: Int?)>

  init(_ names: [String] = []) { state = NIOLockedValueBox((names, nil)) }

  func set(port: Int) {
    let names = ["127.0.0.1", "localhost", "[::1]"].map { "\($0):\(port)" }
    state.withLockedValue { $0 = (names, port) }
  }

  /// The port over TCP, once it is known.
  var own: Int? { state.withLockedValue { $0.port } }
  func contains(_ host: String) -> Bool { state.withLockedValue { $0.names.contains(host) } }
  var description: String { state.withLockedValue { $0.names.joined(separator: " or ") } }
}

/// Accepts only requests with the token. It is never read from an address, because logs keep those.
struct TokenCheck: RouterMiddleware {
  typealias Context = BasicRequestContext

  let token: ControlToken
  let sessions: WebSessions

  func handle(
    _ request: Request, context: Context,
    next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    guard Self.isOpen(request) || isAuthorized(request.headers) else {
      var response = APIResponse.problem(
        Problem(
          401, "Unauthorized", "send 'Authorization: Bearer TOKEN', with the token of the daemon"))
      response.headers[.wwwAuthenticate] = "Bearer"
      return response
    }
    return try await next(request, context)
  }

  private func isAuthorized(_ headers: HTTPFields) -> Bool {
    guard let sent = Self.token(in: headers) else { return false }
    return token.matches(sent) || sessions.isValid(sent)
  }

  static func token(in headers: HTTPFields) -> String? {
    let words = headers[.authorization]?.utf8.split(separator: UInt8(ascii: " ")) ?? []
    guard words.count == 2, Substring(words[0]).lowercased() == "bearer" else { return nil }
    return String(words[1])
  }

  /// Whether the path needs no token: it has no secrets, gives a page its key, or proves to a page
  /// that this is the daemon.
  private static func isOpen(_ request: Request) -> Bool {
    request.method == .get && WebPageFiles.has(request.uri.path)
      || request.method == .post
        && [ControlAPI.sessionPath, ControlAPI.proofPath].contains(request.uri.path)
  }
}
