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

  package init(wallSeconds: Double) { self.wallSeconds = wallSeconds }

  /// - Parameters:
  ///   - request: the upload, with the address that was asked.
  ///   - isFullySent: whether all bytes were sent before the answer came.
  package func verdict(
    on head: ResponseHead, to request: UploadRequest, isFullySent: Bool
  ) -> UploadVerdict {
    switch head.status {
    case 200, 201, 202, 204: return isFullySent ? .accepted : .early
    case 301, 302, 303, 307, 308: return redirect(head, from: request.url)
    default: return .failure(failure(of: head, to: request))
    }
  }

  /// A body is sent again only to the same origin, and only with the same method (RFC 9110,
  /// sections 15.4.8 and 15.4.9).
  private func redirect(_ head: ResponseHead, from url: ResourceURL) -> UploadVerdict {
    guard let location = head.headers["Location"] else {
      return .failure(error(.httpStatus, head, "it does not say where to upload to"))
    }
    let target: ResourceURL
    do {
      target = try url.uploadTarget(named: location)
    } catch let refusal {
      return .failure(refusal)
    }
    let shown = target.redacted
    guard head.status == 307 || head.status == 308, target.origin == url.origin else {
      return .failure(
        error(.redirectRefused, head, "if that is right, upload to \(shown)"))
    }
    return .redirected(target)
  }

  func failure(of head: ResponseHead, to request: UploadRequest) -> TransferError {
    switch head.status {
    case 401:
      let hasCredentials =
        request.url.credentials != nil || request.fields["authorization"] != nil
      return hasCredentials
        ? error(.unauthorized, head, "the user name, the password or the token is wrong")
        : error(.unauthorized, head, "give a user name and a password").remedied(by: .credentials)
    case 403: return error(.forbidden, head, "uploading there is forbidden")
    case 404, 410: return error(.notFound, head, "check the address")
    case 405, 501:
      return error(.httpStatus, head, "it does not accept \(request.method.rawValue) there")
    case 407: return error(.proxy, head, "the proxy requires credentials")
    case 409: return error(.httpStatus, head, "does the directory exist there?")
    case 412: return unmet(head, request)
    case 413: return error(.tooLarge, head, "the file is too large for it")
    case 415: return error(.httpStatus, head, "it does not accept this type of file")
    case 423: return error(.httpStatus, head, "the file is locked there", isRetryable: true)
    case 429: return error(.rateLimited, head, "too many requests", isRetryable: true)
    case 408, 425, 500, 502, 503, 504:
      return error(.httpStatus, head, "try again later", isRetryable: true)
    case 507: return error(.httpStatus, head, "it has no room for the file")
    default: return error(.httpStatus, head, "the file was not taken")
    }
  }

  private func unmet(_ head: ResponseHead, _ request: UploadRequest) -> TransferError {
    if case .entityTag = request.precondition {
      return error(.changedOnServer, head, "it has another version than the given one")
    }
    return error(.nameConflict, head, "it has a file there already")
  }

  func error(
    _ code: TransferError.Code, _ head: ResponseHead, _ text: String, isRetryable: Bool = false
  ) -> TransferError {
    TransferError(
      code, "the server answered \(head.status); \(text)", status: head.status,
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

  /// Whether the host did not answer.
  var isHostUnresponsive: Bool {
    [.dns, .connect, .proxy, .timeout, .stalled, .connectionLost].contains(code)
  }
}
