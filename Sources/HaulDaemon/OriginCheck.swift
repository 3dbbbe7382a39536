import HaulControl
import HTTPTypes
import Hummingbird

/// Refuses requests that a browser sends for a page of another site, also after DNS rebinding.
struct OriginCheck: RouterMiddleware {
  typealias Context = ConnectionContext

  /// The accepted values of `Host`.
  let hosts: AllowedHosts
  /// Whether the page is served here: then requests of that page are accepted.
  var servesPage = false

  func handle(
    _ request: Request, context: Context,
    next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    guard request.head.authority != nil else {
      throw Problem(
        400, "Bad Request", "a request has one Host, which is also that of an absolute address")
    }
    guard let own = hosts.origin(of: request, in: context) else {
      throw Problem(
        421, "Misdirected Request",
        "the Host of this interface is \(hosts.description); to give it another name, set 'host', "
          + "or 'public-url' behind a proxy, in haul.conf")
    }
    guard isOwnOrigin(request.headers, own), isOwnSite(request) else {
      throw Problem(403, "Forbidden", "pages of other sites may not use this interface")
    }
    return try await next(request, context)
  }

  private func isOwnOrigin(_ headers: HTTPFields, _ own: PageOrigin) -> Bool {
    let origins = headers[values: .origin]
    return origins.isEmpty || servesPage && origins == [own.origin]
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

extension AllowedHosts {
  func origin(of request: Request, in context: ConnectionContext) -> PageOrigin? {
    request.head.authority.flatMap { origin(of: $0, at: context.local) }
  }
}
