/// What a response to a GET means for the requested bytes (RFC 9110, sections 14 and 15.3.7).
package enum ResponseVerdict: Sendable, Hashable {
  /// The body begins at the requested byte.
  case range(ResponseBody)
  /// The body is the whole resource.
  case whole(ResponseBody)
  /// The resource is empty.
  case empty(Validator)
  /// The body must not be written, but a request without `Range` may work.
  case unusableRange(String)
  /// 416: the range is outside the file; with the length if the server sent it.
  case unsatisfiable(length: Int64?)
  case failure(TransferError)
}

/// The shape of a body, known before its first byte.
package struct ResponseBody: Sendable, Hashable {
  package enum Framing: Sendable, Hashable {
    /// The end is announced.
    case length
    /// The end is marked.
    case chunked
    /// The end is where the connection closes.
    case close
  }

  /// The range of its bytes; the end is nil if it was not announced.
  package let start: Int64
  package let end: Int64?
  /// The length of the whole resource.
  package let total: Int64?
  package let framing: Framing
  package let validator: Validator
  /// The content coding of its bytes.
  package var coding: String?
}

/// Checks a response header against its request. Nothing is written before it agrees.
package struct ResponseJudge: Sendable {
  /// Seconds since 1970, for dates in `Retry-After`.
  package let wallSeconds: Double

  package init(wallSeconds: Double) { self.wallSeconds = wallSeconds }

  package func verdict(on head: ResponseHead, to request: FetchRequest) -> ResponseVerdict {
    if head.hasWholeFile || head.status == 206, hasUnaskedCoding(head) {
      return .failure(
        TransferError(
          .protocolViolation, "the server sent a transfer coding that was not requested"))
    }
    return switch head.status {
    case _ where head.hasWholeFile: whole(head)
    case 206: partial(head, to: request)
    case 416: unsatisfiable(head, to: request)
    default: .failure(failure(for: head, to: request))
    }
  }

  /// Whether it has a transfer coding other than chunked, which would remain in the file (RFC 9112,
  /// section 7).
  private func hasUnaskedCoding(_ head: ResponseHead) -> Bool {
    let codings = head.headers.values(of: "Transfer-Encoding")
    return codings.count > 1 || codings.contains { !Self.plainCodings.contains($0.lowercased()) }
  }

  /// Old servers send `identity`, which means nothing.
  private static let plainCodings: Set = ["chunked", "identity", "none"]

  private func whole(_ head: ResponseHead) -> ResponseVerdict {
    guard let length = announcedLength(head) else { return Self.badLength }
    // A proxy may have changed the body of a 203, and kept the tag (RFC 9110, section 15.3.4).
    let validator: Validator =
      head.status == 203 ? .none : Validator(head.headers, now: wallSeconds)
    if length == 0 { return .empty(validator) }
    return .whole(
      ResponseBody(
        start: 0, end: length, total: length, framing: framing(of: head), validator: validator,
        coding: head.contentCoding))
  }

  private func partial(_ head: ResponseHead, to request: FetchRequest) -> ResponseVerdict {
    guard let asked = request.firstByte else { return unaskedPartial(head) }
    if let type = head.headers["Content-Type"]?.lowercased(), type.hasBytePrefix("multipart/") {
      return .unusableRange("a multipart body in answer to one range")
    }
    if head.contentCoding != nil {
      return .unusableRange("a range of an encoded body")
    }
    guard let content = ContentRange(head.headers), let range = content.range else {
      return .unusableRange("206 without a readable Content-Range")
    }
    guard range.lowerBound == asked else {
      return .unusableRange("a range that does not begin at the requested byte")
    }
    guard let length = announcedLength(head) else { return Self.badLength }
    if let length, length != range.length {
      return .unusableRange("Content-Length and Content-Range that disagree")
    }
    return .range(
      ResponseBody(
        start: asked, end: range.upperBound, total: content.total, framing: framing(of: head),
        validator: Validator(head.headers, now: wallSeconds)))
  }

  /// A 206 to a request without `Range` is the whole resource, if its `Content-Range` says so: some
  /// servers answer every request with 206.
  private func unaskedPartial(_ head: ResponseHead) -> ResponseVerdict {
    if let content = ContentRange(head.headers), let total = content.total,
      content.range == 0..<total, case .whole(let body) = whole(head),
      body.total == nil || body.total == total
    {
      // The range counts coded bytes.
      let length = head.removedCoding == nil ? total : nil
      return .whole(
        ResponseBody(
          start: 0, end: length, total: length, framing: body.framing, validator: body.validator,
          coding: body.coding))
    }
    return .failure(
      TransferError(
        .protocolViolation,
        "the server answered 206, a part of the file, to a request for all of it"))
  }

  private func unsatisfiable(_ head: ResponseHead, to request: FetchRequest) -> ResponseVerdict {
    let length = ContentRange(head.headers)?.total
    if request.firstByte == 0, length == 0 {
      return .empty(Validator(head.headers, now: wallSeconds))
    }
    return .unsatisfiable(length: length)
  }

  /// Nil when it is unreadable; `.some(nil)` when there is none.
  private func announcedLength(_ head: ResponseHead) -> Int64?? {
    if head.headers["Transfer-Encoding"] != nil { return .some(nil) }
    switch ContentLength(head.headers) {
    case .absent: return .some(nil)
    case .bytes(let length): return .some(length)
    case .invalid: return nil
    }
  }

  private static let badLength = ResponseVerdict.failure(
    TransferError(.protocolViolation, "the server sent a Content-Length that cannot be read"))

  private func framing(of head: ResponseHead) -> ResponseBody.Framing {
    // A compressed stream marks its own end.
    if head.removedCoding != nil { return .chunked }
    if head.endsWithConnection { return .close }
    let hasLength = head.headers["Content-Length"] != nil
    return hasLength && head.headers["Transfer-Encoding"] == nil ? .length : .chunked
  }
}

extension ResponseHead {
  /// Whether the body is the whole file. An unknown status counts as x00 of its class (RFC 9110,
  /// section 15).
  package var hasWholeFile: Bool { [200, 203].contains(status) || (209..<300).contains(status) }

  /// The status in a message. Lines about attempts show the fact only, so it says what a limit of
  /// requests is; 420 is an old form of 429.
  var statusText: String {
    [420, 429].contains(status) ? "\(status), too many requests" : "\(status)"
  }

  /// Whether only the end of the connection ends the body, which may also be a failure. The end of
  /// a stream of HTTP/2 is explicit (RFC 9113, section 8.1).
  package var endsWithConnection: Bool {
    version != "HTTP/2" && headers["Content-Length"] == nil && headers["Transfer-Encoding"] == nil
  }
}

extension ResponseJudge {
  /// Who answered, after a redirect. In a message, a semicolon separates fact and advice.
  private static func place(of head: ResponseHead) -> String {
    guard head.wasRedirected else { return "" }
    let address = head.url.redacted
    return " (at \(address.hasBytes(";") ? head.url.origin.description : address))"
  }

  private func failure(for head: ResponseHead, to request: FetchRequest) -> TransferError {
    let retryAfter = RetryAfter.delay(head.headers, now: wallSeconds)
    // The status is the fact; what explains it, or what to do, is the advice.
    func error(_ code: TransferError.Code, _ advice: String, retryable: Bool = false)
      -> TransferError
    {
      TransferError(
        code, "the server answered \(head.statusText)\(Self.place(of: head))", advice: advice,
        status: head.status, isRetryable: retryable, retryAfter: retryAfter)
    }
    if let signing = request.signing {
      var unsigned = request
      unsigned.signing = nil
      let byStatus = failure(for: head, to: unsigned)
      return S3Refusal.error(
        on: head, to: signing, byStatus: byStatus, wallSeconds: wallSeconds) ?? byStatus
    }
    switch head.status {
    case 401:
      let (text, remedy) = UnauthorizedAdvice.advice(
        on: head, to: request.url, request.headers)
      let refused = error(.unauthorized, text)
      return remedy.map { refused.remedied(by: $0) } ?? refused
    case 403: return error(.forbidden, "access is forbidden")
    case 404, 410: return error(.notFound, "check the address")
    case 407: return error(.proxy, "the proxy requires credentials")
    case 420, 429: return error(.rateLimited, "try again later", retryable: true)
    // An unknown status counts as x00 of its class (RFC 9110, section 15): 520 to 530 are
    // Cloudflare's, 509 is that of a bandwidth limit.
    case 408, 425, 500, 502, 503, 504, 509, 512..<600:
      return error(.httpStatus, "try again later", retryable: true)
    case 202:
      return error(
        .httpStatus, "it is still preparing the file; try again later",
        retryable: retryAfter != nil)
    case 200..<300: return error(.httpStatus, "that is not the file")
    case 304:
      return error(.httpStatus, "nobody asked whether the file has changed; try again later")
    case 300..<400: return error(.httpStatus, "it does not say where the file is")
    // Servers of https answer 400 to plain HTTP; only the body says why.
    case 400 where head.url.origin.scheme == "http" && head.url.origin.port != 80:
      return error(.httpStatus, "the request was not served; is it https://?")
    default: return error(.httpStatus, "the request was not served")
    }
  }
}
