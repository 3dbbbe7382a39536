public import HaulCore

/// What a server reports about a resource, and what a download would do with it. Texts are as the
/// server sent them: escape them for a terminal.
public struct ProbeResult: Sendable, Hashable {
  /// The requested address.
  public let url: ResourceURL
  /// The address after redirects.
  public let finalURL: ResourceURL
  /// The status of the final answer: 200, 206, or 416 for an empty file.
  public let status: Int
  /// `HTTP/1.0`, `HTTP/1.1` or `HTTP/2`.
  public let httpVersion: String
  /// The length in bytes; nil when the server does not send it.
  public let length: Int64?
  /// Whether the server serves ranges.
  public let servesRanges: Bool
  /// The entity tag as sent, with its quotes. A byte that is not UTF-8 is U+10FE00 and the byte.
  public let entityTag: String?
  /// `Last-Modified` as sent.
  public let lastModified: String?
  /// Whether the entity tag or the date proves equal bytes.
  public let hasStrongValidator: Bool
  /// `Content-Type` as sent.
  public let contentType: String?
  /// The name that the server suggests, decoded.
  public let suggestedName: String?
  /// The name that a download would use.
  public let fileName: String
  /// Digests of the whole that the server announces (RFC 9530).
  public let digests: [Checksum]
  /// What a download would do.
  public let plan: Plan

  /// How a download would fetch it.
  public struct Plan: Sendable, Hashable {
    /// The most connections.
    public let connections: Int
    /// The number of segments with that number of connections.
    public let segments: Int
    /// Whether an interrupted download resumes.
    public let resumes: Bool
  }
}

extension ProbeResult {
  /// - Throws: the error of the answer, if it does not serve a file.
  init(
    _ head: ResponseHead, to fetch: FetchRequest, of request: DownloadRequest, wallSeconds: Double
  )
    throws(TransferError)
  {
    url = request.url
    finalURL = head.url
    status = head.status
    httpVersion = head.version
    let validator: Validator
    switch ResponseJudge(wallSeconds: wallSeconds).verdict(on: head, to: fetch) {
    case .range(let body): (length, servesRanges, validator) = (body.total, true, body.validator)
    case .whole(let body): (length, servesRanges, validator) = (body.total, false, body.validator)
    case .empty(let found): (length, servesRanges, validator) = (0, head.status == 416, found)
    case .unusableRange, .unsatisfiable:
      (length, servesRanges) = (nil, false)
      validator = Validator(head.headers, now: wallSeconds)
    case .failure(let error): throw error
    }
    entityTag = validator.entityTag
    lastModified = validator.lastModified
    hasStrongValidator = validator.isStrong
    contentType = head.headers["content-type"]
    suggestedName = ContentDisposition(head.headers)?.fileName
    let suggested = request.usesSuggestedName ? FileName(head.headers) : nil
    fileName = (suggested ?? FileName(request.url)).text
    digests = ReprDigest.checksums(head.headers)
    plan = Plan(
      request, length: length, servesRanges: servesRanges, isStrong: validator.isStrong)
  }
}

extension ProbeResult.Plan {
  fileprivate init(
    _ request: DownloadRequest, length: Int64?, servesRanges: Bool, isStrong: Bool
  ) {
    let isVerifiable = isStrong || !request.checksums.isEmpty || request.allowUnverified
    resumes = servesRanges && isVerifiable
    guard resumes, let length, length > 0 else {
      (connections, segments) = (1, 1)
      return
    }
    var plan = SegmentPlan(length: length)
    while plan.segments.count < max(request.connections, 1),
      plan.assign(minimumSplit: request.minimumSplit) != nil
    {}
    (connections, segments) = (plan.segments.count, plan.segments.count)
  }
}
