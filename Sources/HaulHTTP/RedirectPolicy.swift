import HaulCore

/// Follows redirects without leaking secrets or losing TLS (RFC 9110, section 15.4).
struct RedirectPolicy: Sendable {
  static let maximum = 20
  private(set) var count = 0
  private var seen: Set<ResourceURL>

  init(start: ResourceURL) { seen = [start] }

  /// The target of a redirect; nil for any response that must not be followed.
  static func location(status: Int, headers: HeaderFields) -> String? {
    [301, 302, 303, 307, 308].contains(status) ? headers["location"] : nil
  }

  /// The request that follows the redirect. A change of scheme, host or port drops every secret.
  /// - Throws: `redirect-refused`, `too-many-redirects`.
  mutating func next(after request: FetchRequest, location: String) throws(TransferError)
    -> FetchRequest
  {
    count += 1
    guard count <= Self.maximum else {
      throw TransferError(
        .tooManyRedirects, "more than \(Self.maximum) redirects; check the address")
    }
    let target = try request.url.named(by: location)
    guard seen.insert(target).inserted else {
      throw TransferError(.tooManyRedirects, "the redirects form a loop; check the address")
    }
    return request.redirected(to: target)
  }
}
