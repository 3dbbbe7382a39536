import HaulControl
import Hummingbird

/// The configuration file.
extension ControlAPI {
  func addReloadRoute(to v1: RouterGroup<ConnectionContext>) {
    v1.post("/reload") { request, _ in
      _ = try await request.body(NoKeys.self)
      // What is wrong in the file is for its owner.
      guard isLocal else {
        throw Problem(403, "Forbidden", "haul.conf is read again over the socket only")
      }
      return try APIResponse.json(await settings.reload())
    }
  }
}
