import HaulControl
import HaulCore
import HTTPTypes
import Hummingbird
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// The page that asks for the password, without a script. It is only there where a password is set,
/// and the browser and this daemon, or the proxy, have TLS between them.
struct LoginPage: Sendable {
  static let path = "/login"
  /// The name after its prefix, with which a browser keeps it from what has no TLS.
  private static let cookieName = "haul"
  private static let prefixes = ["__Host-", "__Secure-"]

  /// It computes one try at a time: each takes 32 MiB.
  private static let computer: NIOThreadPool = {
    let pool = NIOThreadPool(numberOfThreads: 1)
    pool.start()
    return pool
  }()

  let access: AccessList
  let sessions: WebSessions
  let hosts: AllowedHosts
  /// Whether this listener is a Unix socket.
  let isSocket: Bool
  /// As which users a proxy connects to it.
  let proxies: Set<UInt32>
  /// Shared by all listeners.
  let tries: NIOLockedValueBox<LoginTries>
  let clock: any TransferClock
  let logger: Logger

  func addRoutes(to router: Router<ConnectionContext>) {
    router.get(RouterPath(Self.path)) { request, context in
      _ = try password(request, context)
      return page()
    }
    router.post(RouterPath(Self.path)) { request, context in try await logIn(request, context) }
  }

  /// The session whose cookie was sent.
  static func session(in headers: HTTPFields, _ sessions: WebSessions) -> String? {
    first(in: headers) { sessions.session(ofCookie: $0) }
  }

  /// What the first cookie of the login page gives that gives something.
  private static func first<Value>(
    in headers: HTTPFields, _ value: (Substring) -> Value?
  ) -> Value? {
    for field in headers[values: .cookie] {
      for pair in field.byteSplit(separator: ";") {
        let pair = String(pair.trimmingBytes(" "))
        for prefix in prefixes {
          let cookie = pair.dropping(bytePrefix: "\(prefix)\(cookieName)=")
          if let found = cookie.flatMap(value) { return found }
        }
      }
    }
    return nil
  }

  /// The field that gives a browser the cookie, or a new time to keep it.
  static func field(_ cookie: String, for origin: PageOrigin) -> String {
    // A browser takes the stronger prefix only for the whole host.
    let prefix = origin.path == "/" ? prefixes[0] : prefixes[1]
    return "\(prefix)\(cookieName)=\(cookie); Path=\(origin.path); Secure; HttpOnly; "
      + "SameSite=Strict; Max-Age=\(Int(WebSessions.secondsUnused))"
  }

  private func password(
    _ request: Request, _ context: ConnectionContext
  ) throws(Problem) -> (PasswordHash, PageOrigin) {
    guard let origin = hosts.origin(of: request, in: context), origin.mayLogIn,
      let password = access.password
    else { throw Problem.notFound("there is no login here; run: haul ui") }
    return (password, origin)
  }

  private func logIn(_ request: Request, _ context: ConnectionContext) async throws -> Response {
    let (password, origin) = try password(request, context)
    let type = request.headers[.contentType]?.prefix(beforeAnyOf: ";").lowercased()
    guard request.headers[.origin] == origin.origin,
      type == "application/x-www-form-urlencoded"
    else { throw Problem(403, "Forbidden", "only the login page may send a password") }
    var request = request
    let body = try await request.collectBody(upTo: TokenCheck.maximumBody)
    guard let given = LoginForm.password(body.readableBytesView) else {
      throw Problem.badRequest("send one field: password")
    }
    let sender = await sender(of: request, context, origin)
    let browser = Self.first(in: request.headers) { sessions.knownBrowser(ofCookie: $0) }
    let client = browser.map { .browser($0) } ?? sender.client
    switch tries.withLockedValue({ $0.begin(client, at: clock.now) }) {
    case .go: break
    case .wait(let time):
      return page("Too many wrong tries. Wait, and try again.", 429, after: time)
    case .busy: return page("Too many tries at once. Try again.", 503, after: .seconds(2))
    }
    var isRight = false
    do {
      isRight = try await Self.computer.runIfActive { try password.matches(given) }
    } catch {
      logger.error("\((error as? TransferError)?.message ?? "a password was not computed")")
    }
    tries.withLockedValue { $0.end(client, isRight: isRight, at: clock.now) }
    guard isRight else {
      logger.warning("a wrong password was sent from \(sender.description)")
      return page("This is not the password.", 403)
    }
    let cookie = try sessions.begin(
      with: password, browser: request.headers[.userAgent] ?? "")
    logger.info("a session began with the password from \(sender.description)")
    var response = Response(status: .seeOther, headers: WebPageFiles.fields("text/plain"))
    // Relative, as a proxy may have a prefix.
    response.headers[.location] = "./"
    response.headers[.setCookie] = Self.field(cookie, for: origin)
    return response
  }

  private func sender(
    of request: Request, _ context: ConnectionContext, _ origin: PageOrigin
  ) async -> LoginClient {
    let field = HTTPField.Name("X-Forwarded-For").flatMap { request.headers[values: $0].last }
    let peer: LoginClient.Peer =
      isSocket ? .user(await context.user) : .address(context.remote?.ipAddress)
    return LoginClient(peer, forwarded: origin.isProxied ? field : nil, proxies: proxies)
  }

  private func page(
    _ message: String = "", _ status: Int = 200, after time: Duration? = nil
  ) -> Response {
    var fields = WebPageFiles.fields("text/html; charset=utf-8")
    fields[.contentSecurityPolicy] = Self.policy
    // With 'no-referrer', a browser would hide the origin of the form. A proxy may set that for all
    // pages: the page says it too.
    if let name = HTTPField.Name("Referrer-Policy") { fields[name] = "same-origin" }
    if let time, let name = HTTPField.Name("Retry-After") {
      fields[name] = "\(time.components.seconds + 1)"
    }
    return Response(
      status: HTTPResponse.Status(code: status), headers: fields,
      body: ResponseBody(byteBuffer: ByteBuffer(string: Self.markup(message))))
  }

  private static let policy = [
    "default-src 'none'", "style-src 'self'", "base-uri 'none'", "form-action 'self'",
    "frame-ancestors 'none'",
  ].joined(separator: "; ")

  /// - Parameter message: of this program, never from outside.
  private static func markup(_ message: String) -> String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="referrer" content="same-origin">
    <title>Haul</title>
    <link rel="stylesheet" href="login.css">
    </head>
    <body>
    <main>
    <h1>Haul</h1>
    <form method="post" action="login">
    <p role="alert">\(message)</p>
    <label for="password">Password</label>
    <input id="password" name="password" type="password" autocomplete="current-password" \
    maxlength="256" required autofocus>
    <button>Sign in</button>
    </form>
    <p>The password is set with <code>haul ui password</code>.</p>
    </main>
    </body>
    </html>

    """
  }
}
