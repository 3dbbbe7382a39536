import HaulControl
import Hummingbird

/// What has ended, for the web page.
extension ControlAPI {
  func addNoticeRoutes(to v1: RouterGroup<BasicRequestContext>) {
    v1.get("/notices") { _, _ in try APIResponse.json(await notices.page) }
    v1.patch("/notices") { request, _ in
      let seen = try await request.body(SeenBody.self).seenUpTo
      guard seen >= 0 else {
        throw Problem.badRequest("'seen_up_to' is the number of a notice")
      }
      return try APIResponse.json(await notices.see(upTo: seen))
    }
  }
}
