import HaulControl
import HaulCore
import HTTPTypes
import Hummingbird

/// Access for a browser: `haul ui` requests an address over the socket, and the page at that
/// address exchanges its code for a key.
extension ControlAPI {
  static let sessionPath = "/api/v1/session"
  static let proofPath = "/api/v1/session/proof"

  func addPageRoutes(to v1: RouterGroup<ConnectionContext>) {
    v1.post("/ui") { request, _ in try APIResponse.json(await address(for: request)) }
    v1.post("/session") { request, context in
      try APIResponse.json(await begin(request, try pageOrigin(request, context)))
    }
    v1.get("/session") { request, context in
      try key(for: request, try pageOrigin(request, context))
    }
    v1.post("/session/proof") { request, context in
      try APIResponse.json(await proof(for: request, try pageOrigin(request, context)))
    }
    v1.get("/sessions") { request, _ in
      try requirePassword(
        request, "sessions are only listed over the socket: haul ui --sessions")
      return try APIResponse.json(SessionList(sessions: sessions.list))
    }
    v1.delete("/sessions/:id") { request, context in
      try requirePassword(request, "sessions are only ended over the socket: haul ui --end")
      let id = PercentCoding.text(try context.parameters.require("id"))
      guard try sessions.end(id) else {
        throw Problem.notFound("there is no session '\(id)'; to see all: haul ui --sessions")
      }
      return Response(status: .noContent)
    }
  }

  /// The session of the token that was sent, also if it has ended meanwhile; nil for the token of
  /// the state directory.
  func session(of request: Request) -> String? {
    TokenCheck.token(in: request.headers).flatMap { sessions.id(in: $0) }
  }

  private func address(for request: Request) async throws -> WebPageAddress {
    let body = try await request.body(PageBody.self)
    try requireSocket("the page's address is only given over the socket: haul ui")
    let page = try await listener.address()
    let code = sessions.makeCode()
    // A fragment is never sent to a server, so that no log and no Referer has the code.
    let url = "\(page)#code=\(code)"
    return WebPageAddress(
      url: url, file: body.file ? try redirects.make(for: url, code: code) : nil)
  }

  /// Where the page is that sends a request.
  private func pageOrigin(
    _ request: Request, _ context: ConnectionContext
  ) throws(Problem) -> PageOrigin {
    guard let origin = hosts.origin(of: request, in: context), origin.mayHaveSession else {
      throw Problem(
        403, "Forbidden", "only the page at the address that 'haul ui' prints begins a session")
    }
    return origin
  }

  private func begin(_ request: Request, _ page: PageOrigin) async throws -> SessionKey {
    guard request.headers[.origin] == page.origin else {
      throw Problem(403, "Forbidden", "only the page begins a session")
    }
    let body = try await request.body(SessionBody.self)
    let browser = request.headers[.userAgent] ?? ""
    // Where options say where it listens, the page needs no port of its own.
    let port = access.listeners.isEmpty ? HostName(page.authority)?.port ?? 0 : 0
    guard let key = try sessions.begin(with: body.code, at: port, browser: browser) else {
      throw Problem(403, "Forbidden", "this code was used, or is older than 60 s; run: haul ui")
    }
    redirects.remove(body.code)
    return key
  }

  /// For a page that was loaded again, or after the login page.
  private func key(for request: Request, _ page: PageOrigin) throws -> Response {
    let known = session(of: request).flatMap { sessions.key(of: $0) }
    if let known { return try APIResponse.json(known) }
    guard page.mayLogIn, let id = LoginPage.session(in: request.headers, sessions),
      let key = sessions.key(of: id)
    else { throw Problem(403, "Forbidden", "only a page that 'haul ui' opened has a session") }
    var response = try APIResponse.json(key)
    response.headers[.setCookie] = LoginPage.field(sessions.cookie(of: id), for: page)
    return response
  }

  private func proof(for request: Request, _ page: PageOrigin) async throws -> SessionProof {
    let challenge = try await request.body(ChallengeBody.self)
    guard challenge.isValid else {
      throw Problem.badRequest("give the id of a session, and a 'challenge' of 64 digits")
    }
    return sessions.proof(for: challenge, at: page.authority)
  }

  /// Who knows the password may see and end all sessions; a page that 'haul ui' opened may not.
  private func requirePassword(_ request: Request, _ detail: String) throws(Problem) {
    if let id = session(of: request), sessions.hasPassword(id) { return }
    try requireSocket(detail)
  }

  private func requireSocket(_ detail: String) throws(Problem) {
    guard isLocal else { throw Problem(403, "Forbidden", detail) }
  }
}
