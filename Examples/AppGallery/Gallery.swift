import FoundationEssentials
import HaulCache
import HTTPTypes
import Hummingbird
import Logging

/// An icon, as the page gets it.
struct Icon: Sendable {
  struct NotAnImage: Error {}

  let type: String
  let bytes: ByteBuffer

  init(_ resource: Resource) throws {
    guard let type = resource.headers["Content-Type"], type.hasPrefix("image/") else {
      throw NotAnImage()
    }
    self.type = type
    bytes = ByteBuffer(bytes: resource.data)
  }
}

/// The page, and the icons for its rows.
struct Gallery: Sendable {
  let icons: ResourceCache<Icon>
  let server: IconServer
  let address: String

  func addRoutes(to router: Router<BasicRequestContext>) {
    add(PackageResources.index_html, at: "/", type: "text/html; charset=utf-8", to: router)
    add(PackageResources.gallery_js, at: "gallery.js", type: "text/javascript", to: router)
    add(PackageResources.apps_json, at: "apps.json", type: "application/json", to: router)
    router.get("counts") { _, _ in server.counts }
    router.post("purge") { _, _ in
      icons.purgeMemory()
      return HTTPResponse.Status.noContent
    }
    router.get("icons/:app") { request, context in
      try await icon(of: context.parameters.require("app", as: Int.self), for: request)
    }
  }

  private func icon(of app: Int, for request: Request) async throws -> Response {
    let url = try ResourceURL("\(address)/server/icons/\(app)")
    if let icon = icons.cachedValue(for: url) { return Self.response(icon.bytes, icon.type) }
    // This load goes on when the row has left, so that no icon is requested twice.
    icons.prefetch([url])
    return try await request.body.consumeWithCancellationOnInboundClose { _ in
      do throws(ResourceError) {
        // This raises the priority of the load, so that icons of visible rows come first.
        let icon = try await icons.value(for: url)
        return Self.response(icon.bytes, icon.type)
      } catch {
        throw HTTPError(.badGateway, message: error.description)
      }
    }
  }

  private func add(
    _ file: [UInt8], at path: RouterPath, type: String, to router: Router<BasicRequestContext>
  ) {
    let bytes = ByteBuffer(bytes: file)
    router.get(path) { _, _ in Self.response(bytes, type) }
  }

  /// Browsers keep nothing, so that every row asks the cache of this program.
  private static func response(_ bytes: ByteBuffer, _ type: String) -> Response {
    Response(
      status: .ok, headers: [.contentType: type, .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: bytes))
  }
}

/// Reports errors only.
func quiet() -> Logger {
  var logger = Logger(label: "AppGallery")
  logger.logLevel = .error
  return logger
}
