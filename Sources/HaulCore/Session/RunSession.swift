/// What all transfers of one command share: what servers have set, and what a user has for further
/// hosts. In a daemon each transfer has a session of its own.
package struct RunSession: Hashable, Sendable {
  /// By lower-case host: for an origin that a server has named. They are of its own entry in the
  /// netrc file, so that the password of another host never goes there.
  package var logins: [String: ResourceURL.Credentials] = [:]
  /// The user's own.
  package var cookies = CookieJar()

  package init() {}
}
