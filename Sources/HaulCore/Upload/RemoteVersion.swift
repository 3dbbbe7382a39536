/// One version of a remote resource that is the source of an upload: it is read in ranges, and no
/// two of them are of different versions.
package struct RemoteVersion: Sendable, Hashable {
  /// In bytes.
  package let length: Int64
  /// Proves equal bytes.
  package let validator: Validator

  package init(length: Int64, validator: Validator) {
    (self.length, self.validator) = (length, validator)
  }

  /// How the resource can be read.
  package enum Reading: Sendable, Hashable {
    case ranges(RemoteVersion)
    /// Only from its beginning to its end: it has no ranges, no length or no strong validator.
    case stream
  }

  /// What the answer to a probe says.
  package struct Answer: Sendable {
    package let reading: Reading
    /// How the resource is encoded, unasked.
    package let coding: String?
    /// What readers need to know of its bytes.
    package let fields: HeaderFields
    /// What it may be in place of the file; nil if it is not read in ranges.
    package let page: MisplacedPage?
    /// What its server says that all of its bytes have.
    package let digest: Checksum?
    /// The whole resource, once it was read, if the answer has it.
    package var whole: [UInt8]?
  }

  /// How many bytes the probe asks for: a small resource needs no second request.
  private static let probed: Int64 = 64 << 10

  /// How many bytes, from the first, the answer to the probe has.
  package var probedLength: Int64 { min(length, Self.probed) }

  /// The request that asks how the resource can be read.
  package static func probe(of source: DownloadRequest) -> FetchRequest {
    request(source, firstByte: 0, lastByte: probed - 1)
  }

  /// Judges the answer to a probe.
  /// - Parameter target: where the resource is sent.
  /// - Throws: what the answer fails with; `too-large`.
  package static func answer(
    _ head: ResponseHead, to probe: FetchRequest, of source: DownloadRequest,
    for target: ResourceURL, wallSeconds: Double
  ) throws(TransferError) -> Answer {
    let reading = try reading(head, to: probe, of: source, wallSeconds: wallSeconds)
    return Answer(
      reading: reading, coding: head.contentCoding, fields: head.fieldsOfBytes,
      page: reading == .stream ? nil : source.misplacedPage(head, for: target),
      digest: head.trustedDigest)
  }

  private static func reading(
    _ head: ResponseHead, to probe: FetchRequest, of source: DownloadRequest, wallSeconds: Double
  ) throws(TransferError) -> Reading {
    switch ResponseJudge(wallSeconds: wallSeconds).verdict(on: head, to: probe) {
    // Some firewalls refuse the range.
    case .failure where [400, 403, 405, 406, 501].contains(head.status): return .stream
    case .failure(let error): throw error.ofSource
    case .range(let body):
      try source.checkSize(body.total ?? 0)
      guard let length = body.total, body.end == min(length, Self.probed), body.validator.isStrong
      else { return .stream }
      return .ranges(RemoteVersion(length: length, validator: body.validator))
    case .whole(let body):
      try source.checkSize(body.total ?? 0)
      return .stream
    case .empty, .unusableRange, .unsatisfiable: return .stream
    }
  }

  /// The request for a part.
  package func request(for part: ByteRange, of source: DownloadRequest) -> FetchRequest {
    var request = Self.request(
      source, firstByte: part.lowerBound, lastByte: part.upperBound - 1)
    request.ifRange = validator.ifRange
    return request
  }

  /// The request for everything, of a resource that is read as a stream.
  package static func request(
    _ source: DownloadRequest, firstByte: Int64? = nil, lastByte: Int64? = nil
  ) -> FetchRequest {
    var request = FetchRequest(
      url: source.askedURL, headers: source.headers, firstByte: firstByte, lastByte: lastByte,
      allowInsecure: source.allowInsecure)
    (request.signing, request.bearerFile) = (source.signing, source.bearerFile)
    request.trustedHosts = source.trustedRedirectHosts
    request.isOfClient = source.isOfClient
    return request
  }

  /// Checks that the answer to the request for a part has these bytes, of this version.
  /// - Throws: `source-changed` if there is another version, `protocol-violation` for other bytes,
  ///   and what the answer fails with.
  package func check(
    _ head: ResponseHead, to request: FetchRequest, for part: ByteRange, wallSeconds: Double
  ) throws(TransferError) {
    switch ResponseJudge(wallSeconds: wallSeconds).verdict(on: head, to: request) {
    case .range(let body):
      try checkVersion(body.validator, length: body.total)
      guard body.end == part.upperBound, body.total == length else {
        throw Self.unusable("other bytes than those that were asked for")
      }
    case .whole(let body):
      try checkVersion(body.validator, length: body.total)
      throw Self.unusable("everything in place of a part")
    case .unusableRange(let what): throw Self.unusable(what)
    case .empty: throw Self.changed("it is empty now")
    case .unsatisfiable: throw Self.changed("it no longer has all of its bytes")
    case .failure(let error) where error.status == 412: throw Self.changed("it has another version")
    case .failure(let error): throw error.ofSource
    }
  }

  private func checkVersion(_ newer: Validator, length total: Int64?) throws(TransferError) {
    if let total, total != length {
      throw Self.changed("it has \(total) bytes instead of \(length)")
    }
    switch validator.comparison(with: newer) {
    case .same: break
    case .different: throw Self.changed("it has another version")
    case .unknown: throw Self.unusable("a part without the entity tag or the date of the file")
    }
  }

  private static func changed(_ how: String) -> TransferError {
    .source(.sourceChanged, "changed while it was uploaded: \(how)", advice: "upload it again")
  }

  private static func unusable(_ what: String) -> TransferError {
    .source(.protocolViolation, "sent \(what)")
  }
}

extension Validator {
  /// What identifies the version: a strong entity tag or a strong date, with the other of both. A
  /// weak tag or another date proves nothing by itself, but a different one is of another version.
  var strongText: String? {
    let isStrong = entityTag.flatMap { EntityTag($0) }?.isWeak == false || lastModifiedIsStrong
    return isStrong ? [lastModified, entityTag].compactMap(\.self).joined(separator: " ") : nil
  }
}

extension DownloadRequest {
  /// Checks that an upload can obey each of its options, as its source.
  /// - Throws: `not-yet-supported`.
  package func checkAsSource() throws(TransferError) {
    let refused = [
      ("a destination", destination != .stream), ("decoding", decodesContent),
      ("a suggested name", usesSuggestedName), ("starting over", startOver),
      ("unverified ranges", allowUnverified), ("a rate limit of its own", rateLimit != nil),
    ]
    guard let (name, _) = refused.first(where: \.1) else { return }
    throw TransferError(.notYetSupported, "the source of an upload cannot have \(name)")
  }

  /// What an answer may be in place of the file that is sent to `target`.
  package func misplacedPage(_ head: ResponseHead, for target: ResourceURL) -> MisplacedPage? {
    guard checksums.isEmpty else { return nil }
    return MisplacedPage(head, at: url, named: target.path.lastPathName)
  }

  /// - Throws: `too-large`.
  package func checkSize(_ length: Int64) throws(TransferError) {
    guard let maximumSize, length > maximumSize else { return }
    throw TransferError.source(
      .tooLarge, "has more than the allowed \(maximumSize) bytes"
    ).remedied(by: .maximumSize)
  }
}

extension TransferError {
  /// An error of the source and not of the server that gets it.
  /// - Parameter what: what the source does, the rest of the fact.
  package static func source(
    _ code: Code, _ what: String, advice: String? = nil, isRetryable: Bool = false
  ) -> TransferError {
    TransferError(code, "the source \(what)", advice: advice, isRetryable: isRetryable).saidOfSource
  }

  /// The same error, said of the source and not of the server that gets it.
  package var ofSource: TransferError {
    isOfSource ? self : prefixed("the source: ").saidOfSource
  }
}
