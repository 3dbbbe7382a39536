package import HaulCore

extension EventDocument {
  /// An end. A `finished` event has its keys at the top, a transfer has them in `result`.
  package struct Result: Codable, Hashable, Sendable {
    package var result: TransferResult
    /// Whether the daemon ran it.
    let isBackground: Bool

    package init(_ result: TransferResult, isBackground: Bool) {
      (self.result, self.isBackground) = (result, isBackground)
    }
  }
}

extension EventDocument.Result {
  private enum Key: String, CodingKey {
    case state, background, path, bytes, fetched, reused, cache, duration, checksum, verified
    case coding, warning, reply, metrics, error
    case isAdopted = "is_adopted"
    case isUnchanged = "is_unchanged"
    case kept
  }

  private enum ReplyKey: String, CodingKey { case location, text }

  private typealias Failure = TransferDocument.Failure

  package func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(result.state.rawValue, forKey: .state)
    try object.encode(isBackground, forKey: .background)
    try object.encode(result.path, forKey: .path)
    try object.encode(result.bytes, forKey: .bytes)
    try object.encode(result.fetched, forKey: .fetched)
    try object.encode(result.reused, forKey: .reused)
    try object.encode(result.cacheUse?.rawValue, forKey: .cache)
    try object.encode(JSONNumber.seconds(result.duration), forKey: .duration)
    try encodeChecksum(to: &object)
    try object.encode(result.verified?.rawValue, forKey: .verified)
    try object.encode(result.coding, forKey: .coding)
    try object.encode(result.warning?.code, forKey: .warning)
    try encodeReply(to: &object)
    try object.encode(result.isAdopted, forKey: .isAdopted)
    try object.encode(result.isUnchanged, forKey: .isUnchanged)
    try object.encode(result.kept, forKey: .kept)
    try object.encode(result.metrics.map(Metrics.init), forKey: .metrics)
    try object.encode(result.error.map { Failure($0) }, forKey: .error)
  }

  /// `{"sha-256": HEX}`, with one key for each algorithm.
  private func encodeChecksum(to object: inout KeyedEncodingContainer<Key>) throws {
    guard !result.checksums.isEmpty else { return try object.encodeNil(forKey: .checksum) }
    var digests = object.nestedContainer(keyedBy: AnyKey.self, forKey: .checksum)
    for checksum in result.checksums {
      try digests.encode(checksum.hex, forKey: AnyKey(stringValue: checksum.algorithm.rawValue))
    }
  }

  private func encodeReply(to object: inout KeyedEncodingContainer<Key>) throws {
    guard let reply = result.reply else { return try object.encodeNil(forKey: .reply) }
    var texts = object.nestedContainer(keyedBy: ReplyKey.self, forKey: .reply)
    try texts.encode(reply.location, forKey: .location)
    try texts.encode(reply.text, forKey: .text)
  }

  package init(from decoder: any Decoder) throws {
    let object = try decoder.container(keyedBy: Key.self)
    isBackground = try object.value(.background)
    let failure: Failure? = try object.optional(.error)
    let digests: [String: String] = try object.optional(.checksum) ?? [:]
    let metrics: Metrics? = try object.optional(.metrics)
    var read = TransferResult(
      state: try object.value(.state), path: try object.optional(.path),
      bytes: try object.value(.bytes), fetched: try object.value(.fetched),
      reused: try object.value(.reused), duration: .seconds(try object.value(.duration) as Double),
      checksums: Checksum.Algorithm.allCases.compactMap { algorithm in
        digests[algorithm.rawValue].flatMap { Checksum("\(algorithm.rawValue)=\($0)") }
      },
      verified: try object.optional(.verified), coding: try object.optional(.coding),
      error: failure?.error, metrics: metrics?.metrics
    ).noting(try object.optional(.reply) as UploadReply?)
    if let use: CacheUse = try object.optional(.cache) { read = read.noting(use) }
    if try object.optional(.isAdopted) == true { read = read.notingAdoption() }
    if try object.optional(.isUnchanged) == true { read = read.notingUnchanged() }
    read = read.noting(kept: try object.optional(.kept))
    result = read
  }
}

extension TransferResult {
  /// What may be wrong with the file of a completed download; nil for nothing.
  package var warning: (code: String, text: String)? {
    guard state == .completed, verified == .unverified else { return nil }
    return (
      "unverified",
      "nothing shows that the file is whole and of one version; a checksum would"
    )
  }

  /// That a file was kept, and where the new one is; nil if none was.
  package var keptText: String? { Self.text(ofKept: kept, path: path) }

  /// The same, of what is known of a result.
  package static func text(ofKept kept: String?, path: String?) -> String? {
    guard let kept, let name = path?.lastPathName else { return nil }
    return "kept your \(kept); the new one is \(name)"
  }

  /// The same, unless it is what `--allow-unverified` accepts.
  package func warning(allowingUnverified: Bool) -> (code: String, text: String)? {
    allowingUnverified ? nil : warning
  }

  /// The state, where a completed file that may be a wrong one counts as failed.
  package func strictState(allowingUnverified: Bool) -> State {
    state == .completed && warning(allowingUnverified: allowingUnverified) != nil ? .failed : state
  }
}

/// Network figures of the last run.
private struct Metrics: Codable {
  @Nullable private var firstResponse: Double?
  private let requests: Int
  private let retries: Int

  private enum CodingKeys: String, CodingKey {
    case firstResponse = "first_response"
    case requests, retries
  }

  init(_ metrics: TransferMetrics) {
    (requests, retries) = (metrics.requests, metrics.retries)
    firstResponse = metrics.timeToFirstResponse.map { JSONNumber.seconds($0) }
  }

  var metrics: TransferMetrics {
    TransferMetrics(
      timeToFirstResponse: firstResponse.map { .seconds($0) }, requests: requests, retries: retries)
  }
}
