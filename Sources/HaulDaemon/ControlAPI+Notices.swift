import HaulControl
import Hummingbird

/// What has ended, for the web page.
extension ControlAPI {
  func addNoticeRoutes(to v1: RouterGroup<ConnectionContext>) {
    v1.get("/notices") { _, _ in try APIResponse.json(shown(await notices.page)) }
    v1.patch("/notices") { request, _ in
      let body = try await request.body(SeenBody.self)
      guard body.seenUpTo >= 0 else {
        throw Problem.badRequest("'seen_up_to' is the number of a notice")
      }
      return try APIResponse.json(
        shown(await notices.see(upTo: body.seenUpTo, clearing: body.clears ?? false)))
    }
  }

  private func shown(_ page: NoticePage) -> NoticePage {
    var page = page
    if !isLocal { page.hideProgramOutput() }
    return page
  }
}
