import HTTPTypes
import Hummingbird
import Synchronization

/// The server of the icons: slow, and it counts its requests. Its responses may be kept for a day.
final class IconServer: Sendable {
  /// How many requests it got, for how many icons, and how many for one icon at most.
  struct Counts: ResponseEncodable {
    let requests: Int
    let icons: Int
    let most: Int
  }

  private let requests = Mutex<[Int: Int]>([:])

  var counts: Counts {
    requests.withLock { requests in
      Counts(
        requests: requests.values.reduce(0, +), icons: requests.count,
        most: requests.values.max() ?? 0)
    }
  }

  func addRoutes(to router: Router<BasicRequestContext>) {
    router.get("server/icons/:app") { _, context in
      let app = try context.parameters.require("app", as: Int.self)
      guard let picture = NumberPicture(app) else { throw HTTPError(.notFound) }
      self.requests.withLock { $0[app, default: 0] += 1 }
      try await Task.sleep(for: .milliseconds(.random(in: 0...5000)))
      return Response(
        status: .ok, headers: [.contentType: "image/bmp", .cacheControl: "max-age=86400"],
        body: ResponseBody(byteBuffer: ByteBuffer(bytes: picture.bitmap)))
    }
  }
}
