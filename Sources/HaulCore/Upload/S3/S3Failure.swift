/// What an answer of an S3 store says that it refuses, and why.
package struct S3Failure {
  /// The store's word for the reason, such as `NoSuchUpload`; nil if there is none.
  let code: String?
  /// The region that the bucket is in, if the store says that it is not the one that was asked.
  let region: String?
  /// The host that the bucket is at, if the store names one.
  let endpoint: String?
  /// The store's own words.
  private let words: String?
  private let answer: UploadAnswer
  private var head: ResponseHead { answer.head }

  init(_ answer: UploadAnswer) {
    let root = XMLElement(document: answer.body).flatMap { $0.name == "Error" ? $0 : nil }
    code = root?["Code"].map { ShownText.line($0, atMost: 64) }.flatMap { $0.isEmpty ? nil : $0 }
    region = (answer.head.headers["x-amz-bucket-region"] ?? root?["Region"]).flatMap {
      Self.isWord($0) ? $0 : nil
    }
    endpoint = root?["Endpoint"]
    words = root?["Message"]
    self.answer = answer
  }

  private static func isWord(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"): true
        default: false
        }
      }
  }

  /// Whether the bucket is not where it was asked for.
  var isElsewhere: Bool {
    [
      "PermanentRedirect", "TemporaryRedirect", "Redirect", "AuthorizationHeaderMalformed",
      "IllegalLocationConstraintException",
    ].contains(code)
      || code == nil && ([301, 302, 307, 308].contains(head.status) || isMalformedHead)
  }
  /// An answer to HEAD has no code.
  private var isMalformedHead: Bool { head.status == 400 && region != nil }
  /// The address that a redirect names.
  var redirect: String? {
    [301, 302, 307, 308].contains(head.status) ? head.headers["Location"] : nil
  }
  /// Whether the store no longer has the upload: it was completed or aborted.
  var isUploadGone: Bool { code == "NoSuchUpload" }
  /// Whether the condition of the request does not hold. MinIO said so with 304 for a time.
  var isUnmet: Bool { [304, 412].contains(head.status) || code == "PreconditionFailed" }
  /// Whether there is no object, and a condition names one.
  var lacksObject: Bool { code == "NoSuchKey" }
  /// Whether another request for the object was under way.
  var isConflict: Bool { code == "ConditionalRequestConflict" }
  /// Whether the store's clock and this machine's differ too much.
  var isClockWrong: Bool { code == "RequestTimeTooSkewed" }
  /// Whether the key was temporary, and its time is over.
  private var isKeyExpired: Bool {
    ["ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"]
      .contains(code)
  }
  /// Whether an answer of a store says that, or that it does not know the key or its token: a key
  /// without an end may have been replaced.
  package static func isKeyGone(_ response: SendResponse) -> Bool {
    guard !(200..<300).contains(response.head.status) else { return false }
    let failure = S3Failure(
      UploadAnswer(
        response.head, body: response.body, isWhole: response.isWhole, sent: 0, part: 0,
        wallSeconds: 0))
    return failure.isKeyExpired || ["InvalidAccessKeyId", "InvalidToken"].contains(failure.code)
  }
  /// Whether the store lacks parts that it had.
  var arePartsGone: Bool { code == "InvalidPart" || code == "InvalidPartOrder" }

  /// Whether the key may not make such a request, or the store does not know it.
  var isForbidden: Bool {
    [403, 405, 501].contains(head.status)
      && [nil, "AccessDenied", "AllAccessDisabled", "MethodNotAllowed", "NotImplemented"]
        .contains(code)
  }

  /// Whether the store says that the bytes that it has are others than those that were sent. A
  /// checksum of another type is a refusal of the field.
  var isDigestWrong: Bool {
    ["BadDigest", "XAmzContentChecksumMismatch"].contains(code)
      || code != "SignatureDoesNotMatch" && says("mismatch", "not match")
        && says("checksum", "crc32", "digest", "md5") && !says("checksum type")
  }

  /// Whether it may refuse fields about checksums, which it does not know. Stores have many codes
  /// for that, and some name no reason at all; but other bytes than those that were sent are none.
  var mayRefuseChecksums: Bool {
    guard !isDigestWrong else { return false }
    let known = [
      "InvalidArgument", "InvalidRequest", "MalformedXML", "NotImplemented",
      "SignatureDoesNotMatch", "BadRequest",
    ]
    guard let code else { return head.status == 400 || head.status == 501 }
    if known.contains(code) || head.status == 501 { return true }
    return (head.status == 200 || (400..<500).contains(head.status))
      && says("checksum", "crc32", "header", "not implement", "unsupported", "not supported")
      && !says("sha256", "md5", "authorization")
  }

  /// Whether the store's code or words have one of these texts, in any case of letters.
  private func says(_ texts: String...) -> Bool {
    let said = "\(code ?? "") \(words ?? "")".lowercased()
    return texts.contains { said.hasBytes($0) }
  }

  /// Whether it may refuse fields with conditions, which it does not know.
  var mayRefuseConditions: Bool {
    guard !isDigestWrong, !isUnmet, !isConflict else { return false }
    let known = [
      "InvalidArgument", "InvalidRequest", "NotImplemented", "BadRequest", "MethodNotAllowed",
    ]
    let isKnown = code.map(known.contains) ?? [400, 405].contains(head.status)
    return isKnown || [422, 501].contains(head.status)
      || [400, 405, 409].contains(head.status) && says("if-match", "if-none-match")
  }

  /// Whether it is a refusal with 409 that does not say why: some stores answer so where the
  /// condition does not hold.
  func isUnclear(for request: UploadRequest) -> Bool {
    head.status == 409 && !isConflict && !mayRefuseConditions && !error(request).isRetryable
  }

  /// What is reported when the upload goes on without checksums.
  var refusedChecksums: TransferError { refused("CRC32C checksums") }
  /// What is reported when the upload goes on without conditions.
  var refusedConditions: TransferError { refused(Self.conditions) }

  /// What is reported when the parts of an earlier run are of no use.
  func refusedList(_ request: UploadRequest) -> TransferError {
    let error = error(request)
    return TransferError(
      error.code, "which parts the store has is not known: \(error.fact)",
      advice: "the upload begins anew; let the key list its parts", status: head.status)
  }

  /// Why an upload fails that does not go on without its condition.
  func refusedPromise(_ request: UploadRequest) -> TransferError {
    let said = reason(request).map { ", and says: \($0)" } ?? ""
    return refused(Self.conditions, advice: "it may not know such conditions\(said)")
  }

  private static let conditions = "If-Match or If-None-Match"

  private func refused(
    _ fields: String, advice: String = "the upload goes on without them"
  ) -> TransferError {
    let reason = code.map { " (\($0))" } ?? ""
    return TransferError(
      .httpStatus, "the server answered \(head.status)\(reason), perhaps because of \(fields)",
      advice: advice, status: head.status)
  }

  /// Whether it may refuse a part because that came without its MD5: where objects are locked, some
  /// stores want one.
  var mayMissMD5: Bool {
    ["InvalidDigest", "InvalidRequest", "MissingContentMD5"].contains(code)
  }

  /// The error to report.
  func error(_ request: some RefusedRequest) -> TransferError {
    switch code {
    case "NoSuchBucket": return error(.notFound, "there is no such bucket").with(.noBucket)
    case "NoSuchUpload": return error(.notFound, "it no longer has the parts of the file")
    case "InvalidAccessKeyId": return error(.unauthorized, "it does not know the access key")
    case "SignatureDoesNotMatch":
      let metadata = request.upload?.headers.nonASCIIMetadata
        .map { "; or encode \($0), which is not ASCII" }
      return error(.unauthorized, "the secret access key, or the region, is wrong\(metadata ?? "")")
    case _ where isKeyExpired && request.renewsKey:
      return error(
        .unauthorized, "the temporary access key has expired; a new one is asked for",
        isRetryable: true)
    case "ExpiredToken", "TokenRefreshRequired":
      return error(.unauthorized, "the temporary access key has expired; get a new one")
    case "InvalidToken": return error(.unauthorized, "the session token is wrong")
    case "RequestTimeTooSkewed": return skewed(request)
    case "AccessDenied", "AllAccessDisabled":
      let reason = reason(request).map { "; it says: \($0)" } ?? ""
      return error(.forbidden, "the access key does not allow that\(reason)")
    case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
      return elsewhere
    case "SecondLevelDomainForbidden", "PathStyleDomainForbidden":
      return error(
        .forbidden, "it takes the bucket only in the host's name; use virtual addressing")
    case "TemporaryRedirect":
      // As in the first hours of a bucket.
      return error(
        .redirectRefused, "the bucket is at another address for now; give that of its region"
      ).remedied(by: .endpoint)
    case "InvalidObjectState":
      return error(.forbidden, "the object is archived; restore it first")
    case "ConditionalRequestConflict":
      return error(.httpStatus, "another program writes the object too", isRetryable: true)
    case "EntityTooLarge": return error(.tooLarge, "the file is too large for it")
    case "SlowDown", "TooManyRequests", "RequestLimitExceeded":
      return error(.rateLimited, "too many requests", isRetryable: true)
    case "InternalError", "ServiceUnavailable", "RequestTimeout", "OperationAborted",
      "IncompleteBody":
      return error(.httpStatus, "try again later", isRetryable: true)
    case "BadDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch":
      return error(.httpStatus, "the bytes arrived changed", isRetryable: true)
    case _ where isDigestWrong:
      return error(.httpStatus, "the bytes arrived changed", isRetryable: true)
    default: return other(request)
    }
  }

  /// The bucket is not where it was asked for.
  private var elsewhere: TransferError {
    let text = region.map { "the bucket is in the region \($0); give that" }
    return error(.redirectRefused, text ?? "the bucket is in another region; give that")
      .remedied(by: .region)
  }

  private func other(_ request: some RefusedRequest) -> TransferError {
    // Without a code, a gateway may have answered in place of the store.
    let byStatus = request.failure(byStatusOf: answer)
    if region != nil, (300..<400).contains(head.status) { return elsewhere }
    guard code != nil else { return byStatus }
    let shown = words.flatMap { request.shown($0, at: head.url) }
    return error(
      byStatus.code,
      shown.map { "it says: \($0)" }
        ?? "the file was not \(request.upload == nil ? "sent" : "taken")",
      isRetryable: byStatus.isRetryable)
  }

  /// The store's own words, if they say more than its code.
  private func reason(_ request: some RefusedRequest) -> String? {
    func letters(_ text: String?) -> [UInt8] {
      (text ?? "").lowercased().utf8.filter { (0x61...0x7A).contains($0) }
    }
    guard let words, letters(words) != letters(code) else { return nil }
    return request.shown(words, at: head.url)
  }

  /// A request may also have waited on its way for too long, so another one is made.
  private func skewed(_ request: some RefusedRequest) -> TransferError {
    let date = head.headers["Date"].flatMap { HTTPDate($0, now: answer.wallSeconds) }
    let difference = date.map { abs(Double($0.secondsSince1970) - answer.wallSeconds) }
    let isClockWrong = difference ?? 0 > 300
    return error(
      .unauthorized,
      isClockWrong
        ? "this machine's clock is wrong"
        : "it got the request too late, or a clock is wrong: compare this machine's",
      // The next request of an upload has the store's time.
      isRetryable: request.upload != nil || !isClockWrong)
  }

  /// - Parameter advice: what explains the status, or what to do; the status itself is the fact.
  private func error(
    _ errorCode: TransferError.Code, _ advice: String, isRetryable: Bool = false
  ) -> TransferError {
    let reason = code.map { " (\($0))" } ?? ""
    return TransferError(
      errorCode, "the server answered \(head.status)\(reason)", advice: advice,
      status: head.status, isRetryable: isRetryable,
      retryAfter: RetryAfter.delay(head.headers, now: answer.wallSeconds))
  }
}
