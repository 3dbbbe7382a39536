/// Where redirects lead, for the requests after the first.
package struct Redirects: Sendable {
  private enum Previous: Sendable { case unknown, known(ResourceURL), asked }

  /// Where the next requests go, and what the redirects to there have made of a request; nil for
  /// the given address.
  private var target: (url: ResourceURL, redirection: FetchRequest.Redirection?)?
  /// Where the bytes of an earlier run came from.
  private var previous = Previous.unknown
  /// Whether some redirect led to another origin, from which others may have led back.
  private(set) var haveLeftOrigin = false
  /// Whether the given address was asked again since bytes came.
  package var hasAskedAgain = false

  package init() {}

  package func applied(to request: FetchRequest) -> FetchRequest {
    target.map { request.redirected(to: $0.url, as: $0.redirection) } ?? request
  }

  package mutating func follow(_ url: ResourceURL, as redirection: FetchRequest.Redirection?) {
    target = (url, redirection)
    // Of a transport that does not say it, nothing is known.
    haveLeftOrigin = haveLeftOrigin || redirection?.hasLeftOrigin ?? true
  }

  /// The next request goes to the given address.
  package mutating func forget() { target = nil }

  /// The same, unless another fetch has found a fresh link since this one was used.
  package mutating func forget(_ url: ResourceURL) {
    if target?.url == url { target = nil }
  }

  package mutating func notePrevious(_ url: ResourceURL) { previous = .known(url) }

  /// Goes to the address that the bytes of an earlier run came from, once; false if none is known.
  /// Nobody knows any more who named it: if it wants a secret, the given address is asked.
  package mutating func goBack(from origin: ResourceURL.Origin) -> Bool {
    guard case .known(let url) = previous else { return false }
    previous = .asked
    target = (url, .init(hasLeftOrigin: true, redirectingOrigin: origin))
    return true
  }

  /// That address failed: the given one is asked again. False if it is not in use.
  package mutating func leavePrevious() -> Bool {
    guard case .asked = previous else { return false }
    (previous, target) = (.unknown, nil)
    return true
  }

  /// An answer was accepted.
  package mutating func noteAcceptance() {
    if case .asked = previous { previous = .unknown }
  }
}
