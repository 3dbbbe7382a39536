package import HaulControl
import HaulCore
package import HTTPTypes
package import Hummingbird
import HummingbirdCore

/// Accepts only requests with a token that allows them. It is never read from an address, because
/// logs keep those.
package struct TokenCheck: RouterMiddleware {
  package typealias Context = ConnectionContext

  private let token: ControlToken
  private let sessions: WebSessions
  private let access: AccessList

  package init(token: ControlToken, sessions: WebSessions, access: AccessList) {
    (self.token, self.sessions, self.access) = (token, sessions, access)
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
    if let scope = scope(in: request.headerFields) {
      let path = URI(request.path ?? "").path
      guard scope.allows(request.method.rawValue, path) else {
        return Problem(
          403, "Forbidden", "a token with the scope '\(scope.rawValue)' does not allow this")
      }
      return nil
    }
    guard Self.isOpen(request) || isLoggedIn(request) else {
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

  package func isAuthorized(_ headers: HTTPFields) -> Bool { scope(in: headers) != nil }

  private func scope(in headers: HTTPFields) -> AccessScope? {
    guard let sent = Self.token(in: headers) else { return nil }
    return token.matches(sent) || sessions.isValid(sent) ? .control : access.scope(of: sent)
  }

  /// Whether the page asks for its key with the cookie of the login page, which is good for nothing
  /// else: other pages cannot make a browser do anything with it.
  private func isLoggedIn(_ request: HTTPRequest) -> Bool {
    request.method == .get && URI(request.path ?? "").path == ControlAPI.sessionPath
      && LoginPage.session(in: request.headerFields, sessions) != nil
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
    return request.method == .get && (WebPageFiles.has(path) || path == LoginPage.path)
      || request.method == .post
        && [ControlAPI.sessionPath, ControlAPI.proofPath, LoginPage.path].contains(path)
  }

  static let maximumBody = 1024

  private static func hasSmallBody(_ headers: HTTPFields) -> Bool {
    guard headers[.transferEncoding] == nil else { return false }
    guard let length = headers[.contentLength] else { return true }
    return Int(length).map { $0 <= maximumBody } ?? false
  }
}
