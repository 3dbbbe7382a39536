package import FoundationEssentials
import HaulCore

/// What a response of the server means for a request and for the copies of its resource (RFC 9111,
/// sections 3, 4.3.3 and 4.3.4). `ResourceCache` and `haul get --cache` both decide by it.
package struct CacheDecision: Hashable, Sendable {
  /// What answers the request.
  package enum Answer: Hashable, Sendable {
    case response
    /// The server has confirmed it.
    case copy
    /// The 304 confirms nothing: the resource is fetched again, without conditions.
    case nothing
  }

  /// What becomes of the copies.
  package enum Copies: Hashable, Sendable {
    case kept
    /// They are replaced by the answer, once it is whole.
    case replaced
    /// They are removed, and the answer is not stored, for this reason.
    case removed(String)
  }

  package let answer: Answer
  package let copies: Copies
  /// Status and fields of the answer.
  package let response: StoredResponse

  /// - Parameters:
  ///   - response: its body does not count.
  ///   - request: the directives of the request.
  ///   - copy: what the server was asked to confirm.
  ///   - body: that of the copy; nil if only its decoded value is known.
  ///   - obstacle: why the body of the response cannot be stored.
  package init(
    on response: ResourceResponse, to request: CacheControl, beside copy: StoredResponse?,
    _ body: Data?, obstacle: String? = nil
  ) {
    var stored = StoredResponse(response)
    if response.status == 304, let copy {
      stored = copy.refreshed(
        by: response.headers, requestedAt: response.requestedAt, answeredAt: response.answeredAt)
      let stated = ReprDigest.checksums(ofWhole: stored.headers)
      let isConfirmed =
        !response.wasRedirected && copy.isConfirmed(by: response.headers)
        && (stated == ReprDigest.checksums(ofWhole: copy.headers) || body?.has(stated) == true)
      answer = isConfirmed ? .copy : .nothing
    } else {
      answer = .response
    }
    self.response = stored
    switch (answer, stored.status) {
    case (.nothing, _): copies = .removed("the 304 is of another address or version")
    case (.response, 200), (.response, 203):
      let redirected = response.wasRedirected ? "it comes from the target of a redirect" : nil
      let reason = redirected ?? obstacle ?? stored.refusal(to: request)
      copies = reason.map { .removed($0) } ?? .replaced
    case (.copy, _): copies = stored.refusal(to: request).map { .removed($0) } ?? .replaced
    case (.response, 404), (.response, 410): copies = .removed("the server does not have it")
    default: copies = .kept
    }
  }
}

extension StoredResponse {
  fileprivate func refusal(to request: CacheControl) -> String? {
    isStorable(to: request) ? nil : "the server or the request forbids it"
  }
}
