import HaulCore

/// Why an answer is not stored, for a person.
struct NotStored: Error {
  let reason: String
}

/// What the server said to a request of a download, and when.
struct ServerAnswer: Sendable {
  let request: FetchRequest
  let resource: ResourceRequest
  let head: ResponseHead
  /// Wall time in seconds since 1970, as `answeredAt`.
  let requestedAt: Double
  let answeredAt: Double

  /// Whether it answers a request for the whole resource with bytes.
  var isNew: Bool { request.lastByte == nil && (head.status == 200 || head.status == 206) }

  /// Whether copies of the resource are older than what the server has now, if anything.
  var outdatesCopies: Bool { isNew || [404, 410].contains(head.status) }

  /// The length of the whole resource; nil if its end shows it.
  var length: Int64? {
    if head.status == 206 { return ContentRange(head.headers)?.total }
    guard head.headers["Transfer-Encoding"] == nil,
      case .bytes(let length) = ContentLength(head.headers)
    else { return nil }
    return length
  }

  /// What to store it under.
  /// - Throws: why it may not be stored (RFC 9111, section 3).
  func head(as key: String, atMost limit: Int64) throws(NotStored) -> BlobHead {
    if head.wasRedirected { throw NotStored(reason: "it comes from the target of a redirect") }
    let length = length
    if head.status == 206 {
      guard let length, ContentRange(head.headers)?.range == 0..<length else {
        throw NotStored(reason: "the server sent only a part")
      }
    } else if length == nil, !hasMarkedEnd {
      throw NotStored(reason: "nothing shows whether it is complete")
    }
    if let length, length > limit { throw NotStored(reason: "it is too large") }
    var headers = head.headers
    headers.remove("Content-Range")
    let stored = StoredResponse(
      status: 200, headers: headers, requestedAt: requestedAt, answeredAt: answeredAt)
    guard stored.isStorable(to: resource.directives) else {
      throw NotStored(reason: "the server or the request forbids it")
    }
    return BlobHead(
      resource: key, address: request.url.withoutQueryValues,
      addressDigest: ResourceKey.digest(of: request.url), vary: [], selection: "",
      representation: UInt64.random(in: .min ... .max), response: stored
    ).confirmed(by: stored, to: resource)
  }

  /// Whether a body without a length has an end that the protocol marks: the end of a connection
  /// does not tell a whole body from one that broke off (RFC 9112, section 8).
  private var hasMarkedEnd: Bool {
    head.headers["Transfer-Encoding"] != nil || head.version == "HTTP/2"
  }
}
