/// What an answer to an upload means (RFC 9110, section 15).
package enum UploadVerdict: Sendable, Hashable {
  /// The server has taken the whole file.
  case accepted
  /// The same request is to be sent to this address (307, 308).
  case redirected(ResourceURL)
  /// The server answered before it had the whole file, and did not refuse it.
  case early
  case failure(TransferError)
}

/// Checks the answers to the requests of an upload.
package struct UploadJudge: Sendable {
  /// Seconds since 1970, for dates in `Retry-After`.
  package let wallSeconds: Double
  /// Why the server refuses, in its own words; nil if it does not say so.
  private let reason: String?
  /// What it says about a file that it has taken.
  let reply: UploadReply?

  package init(wallSeconds: Double) {
    (self.wallSeconds, reason, reply) = (wallSeconds, nil, nil)
  }

  /// Judges an answer whose body may say more.
  init(_ answer: UploadAnswer, of request: UploadRequest) {
    wallSeconds = answer.wallSeconds
    reason = ShownText.reason(in: answer, of: request)
    reply = answer.head.status < 400 ? UploadReply(answer, of: request) : nil
  }

  /// - Parameters:
  ///   - request: the upload, with the address that was asked.
  ///   - isFullySent: whether all bytes were sent before the answer came.
  package func verdict(
    on head: ResponseHead, to request: UploadRequest, isFullySent: Bool
  ) -> UploadVerdict {
    let kind = request.method.uploadProtocol
    switch head.status {
    // The one is for a part of a resource (RFC 9110, section 15.3.7); the other has the outcome in
    // its body (RFC 4918, section 13).
    case 206, 207:
      return .failure(
        error(.httpStatus, head, "that does not say whether it has the file: look there"))
    case 200..<300: return isFullySent ? .accepted : .early
    // It has taken what was posted, and names a page about that (RFC 9110, section 15.4.4).
    case 303 where !kind.isIdempotent: return isFullySent ? .accepted : .early
    case 301, 302, 303, 307, 308: return redirect(head, of: request, isFullySent: isFullySent)
    default: return .failure(failure(of: head, to: request))
    }
  }

  /// A body is sent again only to the same origin, and only with the same method (RFC 9110,
  /// sections 15.4.8 and 15.4.9).
  func redirect(
    _ head: ResponseHead, of request: UploadRequest, isFullySent: Bool = false
  ) -> UploadVerdict {
    guard let location = head.headers["Location"] else {
      return .failure(error(.httpStatus, head, "it does not say where to upload to"))
    }
    let target: ResourceURL
    do {
      target = try request.url.uploadTarget(named: location)
    } catch let refusal {
      return .failure(refusal)
    }
    let shown = target.redacted
    guard head.status == 307 || head.status == 308, target.origin == request.url.origin else {
      let advice =
        !request.method.uploadProtocol.isIdempotent && isFullySent
        ? "it may have taken the file: look there, at \(shown)"
        : "if that is right, upload to \(shown)"
      return .failure(error(.redirectRefused, head, advice))
    }
    return .redirected(target)
  }

  func failure(of head: ResponseHead, to request: UploadRequest) -> TransferError {
    switch head.status {
    case 401:
      let (text, remedy) = UnauthorizedAdvice.advice(
        on: head, to: request.url, request.headers, withBody: true)
      let refused = error(.unauthorized, head, text)
      return remedy.map { refused.remedied(by: $0) } ?? refused
    case 403: return error(.forbidden, head, "uploading there is forbidden")
    // Many servers answer so where 409 is meant.
    case 404, 410:
      let isPut = [.put, .resumable].contains(request.method)
      return error(
        .notFound, head, "check the address" + (isPut ? "; \(missingDirectory(request))" : ""))
    case 405, 501:
      let name = request.method.uploadProtocol.name
      let others =
        [.put, .resumable].contains(request.method)
        ? ", or upload in another way: dav+https://, s3:// or --method post" : ""
      return error(
        .httpStatus, head, "it does not accept \(name) there: check the address\(others)")
    case 407: return error(.proxy, head, "the proxy requires credentials")
    case 409: return error(.httpStatus, head, missingDirectory(request))
    // A file is sent with its length (RFC 9110, section 15.5.12).
    case 411 where request.source.files.isEmpty:
      return error(
        .httpStatus, head,
        "it needs the length beforehand; save the source to a file and upload that")
    case 412: return unmet(head, request)
    case 413: return error(.tooLarge, head, "the file is too large for it")
    case 415: return error(.httpStatus, head, "it does not accept this type of file")
    case 423:
      return error(
        .httpStatus, head, "the file is locked there: unlock it, or wait until the lock ends",
        isRetryable: true)
    case 429: return error(.rateLimited, head, "try again later", isRetryable: true)
    // 520 to 527 are those of a content delivery network whose origin fails.
    case 408, 425, 500, 502, 503, 504, 520...527:
      return error(.httpStatus, head, "try again later", isRetryable: true)
    case 507:
      return error(
        .httpStatus, head, "it has no room for the file: free space there, or get a larger quota")
    default: return error(.httpStatus, head, "the file was not taken")
    }
  }

  /// What 409 mostly means (RFC 4918, section 9.7.1).
  private func missingDirectory(_ request: UploadRequest) -> String {
    let what = "a directory above it may be missing there: make it first"
    switch request.method {
    case .put, .resumable: return what + ", or upload by WebDAV (dav+https://), which makes it"
    case .post, .tus, .webDAV, .s3: return what
    }
  }

  private func unmet(_ head: ResponseHead, _ request: UploadRequest) -> TransferError {
    if case .entityTag = request.precondition {
      return error(.changedOnServer, head, "it has another version than the given one")
    }
    return error(.nameConflict, head, "it has a file there already")
  }

  /// - Parameter advice: what explains the status, or what to do; the status itself is the fact.
  func error(
    _ code: TransferError.Code, _ head: ResponseHead, _ advice: String, isRetryable: Bool = false
  ) -> TransferError {
    let said = reason.map { " (it says: \($0))" } ?? ""
    return TransferError(
      code, "the server answered \(head.statusText)\(said)", advice: advice, status: head.status,
      isRetryable: isRetryable, retryAfter: RetryAfter.delay(head.headers, now: wallSeconds))
  }
}

extension ResponseHead {
  /// How many bytes the server has (tus 1.0, and draft-ietf-httpbis-resumable-upload, section
  /// 4.1.1); nil if it does not say so.
  var uploadOffset: Int64? {
    headers.single("Upload-Offset").flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
  }
}

extension TransferError {
  static let unknownOffset = TransferError(
    .protocolViolation, "the server does not say how many bytes it has (Upload-Offset)")
  static let unsentOffset = TransferError(
    .protocolViolation, "the server reports bytes of the file that it was not sent")
  static let otherOffset = TransferError(
    .protocolViolation, "the server reports another number of bytes than sent")
  static let tookNothing = TransferError(
    .httpStatus, "the server took no byte", isRetryable: true)

  /// Whether the host did not answer.
  var isHostUnresponsive: Bool {
    [.dns, .connect, .proxy, .timeout, .stalled, .connectionLost].contains(code)
  }

  /// The same with the place that failed, if it is another one than that of the upload. Only its
  /// directory: the address of an upload is enough to write to it.
  package func naming(_ asked: ResourceURL?, of request: UploadRequest) -> TransferError {
    guard let asked, !isOfSource, status != nil || isHostUnresponsive,
      asked.origin != request.url.origin
        || !asked.directoryPath.isByteEqual(request.url.directoryPath)
    else { return self }
    let origin = "\(asked.origin.scheme)://\(asked.origin.authority)"
    return prefixed("at \(origin)\(asked.directoryPath): ")
  }

  /// The same with the address of the source, if it concerns that.
  package func namingSource(of request: UploadRequest) -> TransferError {
    guard isOfSource, let url = request.download?.url,
      let rest = fact.dropping(bytePrefix: "the source")
    else { return self }
    return changing { $0.fact = "the source \(url.redacted)\(rest)" }
  }
}
