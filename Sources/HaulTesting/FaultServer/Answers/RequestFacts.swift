import HaulCore

/// What an answer depends on: a request, and the server's state when it arrived.
struct RequestFacts: Sendable {
  var method: String
  var headers: HeaderFields
  /// The number among the requests of its resource, from 1.
  var number: Int
  /// The number of other responses of the same resource in progress.
  var othersInProgress: Int

  /// Ranges are defined for GET only (RFC 9110, section 14.2).
  var range: RangeHeader? {
    method == "GET" ? headers["Range"].flatMap(RangeHeader.init) : nil
  }

  func satisfies(_ match: Fault.Match, length: Int64) -> Bool {
    let first = range?.firstByte(of: length) ?? 0
    let condition =
      switch match.has {
      case nil: true
      case .range: headers["Range"] != nil
      case .ifRange: headers["If-Range"] != nil
      case .neither: headers["Range"] == nil && headers["If-Range"] == nil
      }
    return condition
      && match.method.map { $0 == method } ?? true
      && number >= match.firstRequest ?? 1
      && number <= match.lastRequest ?? .max
      && first >= match.offsetAtLeast ?? 0
      && first < match.offsetBelow ?? .max
      && othersInProgress >= match.othersInProgress ?? 0
      && match.withHeader.map { headers[$0] != nil } ?? true
      && match.withoutHeader.map { headers[$0] == nil } ?? true
      && match.withText.map(hasText) ?? true
      && match.withoutText.map { !hasText($0) } ?? true
  }

  private func hasText(_ text: String) -> Bool {
    headers.fields.contains { "\($0.name): \($0.value)".contains(text) }
  }
}
