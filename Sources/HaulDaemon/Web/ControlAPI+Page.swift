import HaulControl
import HaulCore
import HTTPTypes
import Hummingbird

/// Access for a browser: `haul ui` requests an address over the socket, and the page at that
/// address exchanges its code for a key.
extension ControlAPI {
  static let sessionPath = "/api/v1/session"
  static let proofPath = "/api/v1/session/proof"

  func addPageRoutes(to v1: RouterGroup<BasicRequestContext>) {
    v1.post("/ui") { request, _ in try APIResponse.json(await address(for: request)) }
    v1.post("/session") { request, _ in try APIResponse.json(await begin(request)) }
    v1.get("/session") { request, _ in try APIResponse.json(key(for: request)) }
    v1.post("/session/proof") { request, _ in try APIResponse.json(await proof(for: request)) }
    v1.get("/sessions") { _, _ in
      try requireSocket("sessions are only listed over the socket: haul ui --sessions")
      return try APIResponse.json(SessionList(sessions: sessions.list))
    }
    v1.delete("/sessions/:id") { _, context in
      try requireSocket("sessions are only ended over the socket: haul ui --end")
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
    let authority = access.authority(try await listener.port())
    let code = sessions.makeCode()
    // A fragment is never sent to a server, so that no log and no Referer has the code.
    let url = "http://\(authority)/#code=\(code)"
    return WebPageAddress(
      url: url, file: body.file ? try redirects.make(for: url, code: code) : nil)
  }

  private func begin(_ request: Request) async throws -> SessionKey {
    // Not at `localhost`, which may be two addresses, and another program may have one of them.
    guard let own = hosts.own, request.headers[.origin] == "http://\(access.authority(own))" else {
      throw Problem(
        403, "Forbidden", "only the page at the address that 'haul ui' prints begins a session")
    }
    let body = try await request.body(SessionBody.self)
    let browser = request.headers[.userAgent] ?? ""
    guard let key = try sessions.begin(with: body.code, at: own, browser: browser) else {
      throw Problem(403, "Forbidden", "this code was used, or is older than 60 s; run: haul ui")
    }
    redirects.remove(body.code)
    return key
  }

  /// For a page that was loaded again.
  private func key(for request: Request) throws -> SessionKey {
    guard let key = session(of: request).flatMap({ sessions.key(of: $0) }) else {
      throw Problem(403, "Forbidden", "only a page that 'haul ui' opened has a session")
    }
    return key
  }

  private func proof(for request: Request) async throws -> SessionProof {
    let challenge = try await request.body(ChallengeBody.self)
    guard challenge.isValid, let own = hosts.own else {
      throw Problem.badRequest("give the id of a session, and a 'challenge' of 64 digits")
    }
    return sessions.proof(for: challenge, at: access.authority(own))
  }

  private func requireSocket(_ detail: String) throws(Problem) {
    guard isLocal else { throw Problem(403, "Forbidden", detail) }
  }
}
