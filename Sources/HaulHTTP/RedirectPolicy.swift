import HaulCore

/// Follows redirects without leaking secrets or losing TLS (RFC 9110, section 15.4).
struct RedirectPolicy: Sendable {
  static let maximum = 20
  private(set) var count = 0
  /// An address, and the cookies that were sent to it: with others it answers otherwise.
  private struct Visit: Hashable {
    let url: ResourceURL
    let cookies: String?
  }

  /// What a redirect says.
  struct Hop {
    let status: Int
    let location: String
    /// How long the server asked to wait (RFC 9110, section 10.2.3).
    let retryAfter: Duration?

    /// Whether it may mean "ask again": others hold for good.
    fileprivate var isTemporary: Bool { [302, 303, 307].contains(status) }
  }

  private var seen: Set<Visit>
  /// How often a server that is not ready redirected to the same address.
  private var repeats = 0
  private var waited: Duration = .zero
  /// Longer waits belong to the next attempt: the time of one without an answer is limited.
  private static let longestWait: Duration = .seconds(10)

  init(start: ResourceURL, _ cookies: String? = nil) {
    seen = [Visit(url: start, cookies: cookies)]
  }

  /// The target of a redirect; nil for any response that must not be followed.
  static func location(status: Int, headers: HeaderFields) -> String? {
    [300, 301, 302, 303, 307, 308].contains(status) ? headers["location"] : nil
  }

  /// The request that follows the redirect, and how long to wait before it. A change of scheme,
  /// host or port drops every secret.
  /// - Parameter cookies: returns those that it gets.
  /// - Throws: `redirect-refused`, `too-many-redirects`; `http-status`, to be retried, when the
  ///   server asks for long waits.
  mutating func next(
    after request: FetchRequest, _ hop: Hop, cookies: (FetchRequest) -> String?
  ) throws(TransferError) -> (request: FetchRequest, wait: Duration) {
    count += 1
    guard count <= Self.maximum else {
      let text = repeats > 0 ? "the redirects form a loop" : "more than \(Self.maximum) redirects"
      throw TransferError(.tooManyRedirects, text, advice: "check the address")
    }
    let next = request.redirected(to: try request.url.named(by: hop.location))
    let isNew = seen.insert(Visit(url: next.url, cookies: cookies(next))).inserted
    let isSame = next.url == request.url && hop.isTemporary
    if isNew, !isSame || hop.retryAfter == nil { return (next, .zero) }
    // Beside other connections the file is there.
    guard isSame, !request.isAdditional else {
      throw TransferError(
        .tooManyRedirects, "the redirects form a loop", advice: "check the address")
    }
    repeats += 1
    let wait = max(hop.retryAfter ?? .zero, shortWait)
    waited += wait
    guard waited <= Self.longestWait else {
      throw TransferError(
        .httpStatus,
        "the server answered \(hop.status), a redirect to the same address",
        advice: "the file is not ready",
        status: hop.status, isRetryable: true, retryAfter: hop.retryAfter)
    }
    return (next, wait)
  }

  /// 50 ms, doubled each time, at most 0.5 s.
  private var shortWait: Duration {
    .milliseconds(min(500, 50 << min(repeats - 1, 4)))
  }
}
