/// What an S3 store refuses, as far as the words about it need it.
protocol RefusedRequest {
  /// Nil for a download.
  var upload: UploadRequest? { get }
  /// Whether its key comes from a source that gives another one.
  var renewsKey: Bool { get }
  /// The error that the status alone says.
  func failure(byStatusOf answer: UploadAnswer) -> TransferError
  /// The store's words, for the middle of a message; nil if they repeat what it was sent.
  func shown(_ words: String, at url: ResourceURL) -> String?
}

extension UploadRequest: RefusedRequest {
  var upload: UploadRequest? { self }
  var renewsKey: Bool { keySource != nil }

  func failure(byStatusOf answer: UploadAnswer) -> TransferError {
    UploadJudge(answer, of: self).failure(of: answer.head, to: self)
  }

  func shown(_ words: String, at url: ResourceURL) -> String? {
    ShownText.shown(words, of: self, at: url)
  }
}

/// Why an S3 store refuses a download.
struct S3Refusal: RefusedRequest {
  private let login: S3Login
  private let byStatus: TransferError

  let upload: UploadRequest? = nil
  var renewsKey: Bool { if case .of = login.key { true } else { false } }
  func failure(byStatusOf answer: UploadAnswer) -> TransferError { byStatus }
  // What was read has no secrets.
  func shown(_ words: String, at url: ResourceURL) -> String? { ShownText.shown(words) }

  /// By the store's words or, if there are none, by the head of its answer; nil if the status says
  /// enough.
  static func error(
    on head: ResponseHead, to login: S3Login, byStatus: TransferError, wallSeconds: Double
  ) -> TransferError? {
    let failure = S3Failure(
      UploadAnswer(head, body: head.refusal ?? [], sent: 0, wallSeconds: wallSeconds))
    guard failure.code == nil else {
      return failure.error(S3Refusal(login: login, byStatus: byStatus))
    }
    let codes: [Int: TransferError.Code] = [403: .forbidden, 404: .notFound, 405: .notFound]
    return advice(on: head, login.region).map { what in
      TransferError(
        codes[head.status] ?? .httpStatus, byStatus.fact, advice: what, status: head.status,
        retryAfter: byStatus.retryAfter)
    }
  }

  /// - Parameter region: that the signature named.
  private static func advice(on head: ResponseHead, _ region: String) -> String? {
    // The store says it with each refusal of a request to the wrong region.
    if [301, 307, 400, 403].contains(head.status), let right = head.headers["x-amz-bucket-region"],
      S3Object.isRegion(right), right != region
    {
      return "the bucket is in the region \(right): name it"
    }
    switch head.status {
    case 404, 405:
      return head.headers["x-amz-delete-marker"]?.lowercased() == "true"
        ? "the object was deleted" : nil
    case 400:
      return "the store refuses the key, or the object is encrypted with a key of its own"
    case 403:
      return "the key may not read the object, or the object is archived, or this clock is wrong"
    default: return nil
    }
  }
}
