import HaulControl
import HTTPTypes
import HaulCore
import Hummingbird

/// Access for a browser: `haul ui` requests an address over the socket, and the page at that
/// address exchanges its code for a token.
extension ControlAPI {
  static let sessionPath = "/api/v1/session"

  func address(for request: Request) async throws -> WebPageAddress {
    _ = try await request.body(NoKeys.self)
    guard isLocal else {
      throw Problem(403, "Forbidden", "the page's address is only given over the socket: haul ui")
    }
    let port = try await listener.port()
    let host = access.host.hasBytes(":") ? "[\(access.host)]" : access.host
    // A fragment is never sent to a server, so that no log and no Referer has the code.
    return WebPageAddress(url: "http://\(host):\(port)/#code=\(sessions.makeCode())")
  }

  func session(for request: Request) async throws -> SessionToken {
    // The check of origins lets only the page's own through.
    guard request.headers[.origin] != nil else {
      throw Problem(403, "Forbidden", "only the page that 'haul ui' opens begins a session")
    }
    let body = try await request.body(SessionBody.self)
    guard let token = try sessions.begin(with: body.code) else {
      throw Problem(403, "Forbidden", "this code was used, or is older than 60 s; run: haul ui")
    }
    return SessionToken(token: token)
  }
}
