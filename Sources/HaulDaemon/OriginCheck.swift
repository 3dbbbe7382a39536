package import HaulControl
import HaulCore
package import HTTPTypes
package import Hummingbird
import HummingbirdCore
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
    guard isOwnOrigin(request.headers, host), isOwnSite(request) else {
      throw Problem(403, "Forbidden", "pages of other sites may not use this interface")
    }
    return try await next(request, context)
  }

  private func isOwnOrigin(_ headers: HTTPFields, _ host: String) -> Bool {
    let origins = headers[values: .origin]
    return origins.isEmpty || servesPage && origins == ["http://\(host)"]
  }

  private func isOwnSite(_ request: Request) -> Bool {
    let sites = Self.values("Sec-Fetch-Site", request)
    return sites.isEmpty || sites == ["none"]
      || servesPage && (sites == ["same-origin"] || Self.isNavigation(request))
  }

  /// Whether a link or the file of `haul ui` leads a tab to the page: that gives it no access, and
  /// what led to it can neither read nor frame the page.
  private static func isNavigation(_ request: Request) -> Bool {
    request.method == .get && request.uri.path == "/"
      && values("Sec-Fetch-Mode", request) == ["navigate"]
      && values("Sec-Fetch-Dest", request) == ["document"]
  }

  private static func values(_ name: String, _ request: Request) -> [String] {
    HTTPField.Name(name).map { request.headers[values: $0] } ?? []
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
package struct TokenCheck: RouterMiddleware {
  package typealias Context = BasicRequestContext

  private let token: ControlToken
  private let sessions: WebSessions

  package init(token: ControlToken, sessions: WebSessions) {
    (self.token, self.sessions) = (token, sessions)
  }

  package func handle(
    _ request: Request, context: Context,
    next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    guard let refusal = refusal(of: request.head) else { return try await next(request, context) }
    var response = APIResponse.problem(refusal)
    if refusal.status == 401 { response.headers[.wwwAuthenticate] = "Bearer" }
    return response
  }

  /// Why a request is refused before its body is read; nil if it is not.
  package func refusal(of request: HTTPRequest) -> Problem? {
    if isAuthorized(request.headerFields) { return nil }
    guard Self.isOpen(request) else {
      return Problem(
        401, "Unauthorized", "send 'Authorization: Bearer TOKEN', with the token of the daemon")
    }
    guard Self.hasSmallBody(request.headerFields) else {
      return Problem(
        413, "Content Too Large",
        "without a token, a body has a Content-Length of at most \(Self.maximumBody)")
    }
    return nil
  }

  package func isAuthorized(_ headers: HTTPFields) -> Bool {
    guard let sent = Self.token(in: headers) else { return false }
    return token.matches(sent) || sessions.isValid(sent)
  }

  static func token(in headers: HTTPFields) -> String? {
    let words = headers[.authorization]?.byteSplit(separator: " ") ?? []
    guard words.count == 2, words[0].lowercased() == "bearer" else { return nil }
    return String(words[1])
  }

  /// Whether the path needs no token: it has no secrets, gives a page its key, or proves to a page
  /// that this is the daemon.
  private static func isOpen(_ request: HTTPRequest) -> Bool {
    let path = URI(request.path ?? "").path
    return request.method == .get && WebPageFiles.has(path)
      || request.method == .post && [ControlAPI.sessionPath, ControlAPI.proofPath].contains(path)
  }

  private static let maximumBody = 1024

  private static func hasSmallBody(_ headers: HTTPFields) -> Bool {
    guard headers[.transferEncoding] == nil else { return false }
    guard let length = headers[.contentLength] else { return true }
    return Int(length).map { $0 <= maximumBody } ?? false
  }
}
