/// Something that happened to one transfer.
public struct TransferEvent: Sendable, Hashable {
  /// What happened.
  public enum Kind: Sendable, Hashable {
    case added(target: String?)
    /// Its file gets this path instead of the one in `added`. The reason: the server sent the name,
    /// another transfer uses the first path, or an existing file is kept.
    case target(String, reason: String?)
    case phase(Phase, reason: String?)
    /// It does not run, for this reason.
    case waiting(WaitReason)
    case paused(by: Initiator)
    case resumed(by: Initiator)
    /// At most 10 per second and transfer; a slow subscriber gets only the newest. Progress with
    /// all bytes of a file reaches every subscriber once, before the end.
    case progress(TransferProgress)
    indirect case attempt(number: Int, error: TransferError, delay: Duration)
    /// The server refused a connection while others of its host stayed open. From now on the host
    /// gets at most this many connections, for all transfers. No attempt was counted.
    indirect case limited(connections: Int, error: TransferError)
    /// The number of connections that it chose.
    case connections(ConnectionChoice)
    /// Its end.
    case finished(TransferResult)
    /// It was moved; `TransferManager.summaries(of:)` returns the new order.
    case moved
    /// It is no longer in the list.
    case removed
    /// Its present state, in place of events that the subscriber missed.
    indirect case snapshot(TransferSnapshot)
  }

  /// What a transfer is doing now; never stored.
  public enum Phase: String, Sendable, Hashable, Codable {
    case connecting, transferring, verifying, publishing, restarted, running
  }

  /// What caused a pause or a resume.
  public enum Initiator: String, Sendable, Hashable, Codable {
    case user, signal, disk, network
  }

  /// The number of a stored state change. Numbers increase, also across restarts. Nil for progress
  /// and other events that are not stored.
  public let number: Int?
  /// The transfer.
  public let id: TransferID
  /// What happened.
  public let kind: Kind
  /// Nil if it could not be read.
  package let identity: TransferIdentity?
  /// What the end that completes a group says about the group.
  package let groupEnd: GroupEnd?

  /// The address; nil for a step. Print only its `redacted` form.
  public var url: ResourceURL? { identity?.url }
  /// The caller's name for it.
  public var identifier: String? { identity?.identifier }
  /// The group that it belongs to.
  public var group: String? { identity?.group }

  /// An event as a manager emits it, for previews, fakes and tests.
  /// - Parameters: the values of the properties of the same names.
  public init(
    number: Int? = nil, id: TransferID, url: ResourceURL? = nil, identifier: String? = nil,
    group: String? = nil, kind: Kind
  ) {
    self.init(
      number: number, id: id,
      identity: TransferIdentity(url: url, identifier: identifier, group: group), kind: kind)
  }

  package init(
    number: Int?, id: TransferID, identity: TransferIdentity?, kind: Kind,
    groupEnd: GroupEnd? = nil
  ) {
    self.number = number
    self.id = id
    self.identity = identity
    self.kind = kind
    self.groupEnd = groupEnd
  }

  /// The same event of a transfer that is known.
  package func identified(_ identity: TransferIdentity?) -> TransferEvent {
    TransferEvent(number: number, id: id, identity: identity, kind: kind, groupEnd: groupEnd)
  }
}

extension TransferEvent.Kind {
  /// The same with other errors; a snapshot keeps its own.
  package func mapErrors(_ change: (TransferError) -> TransferError) -> Self {
    switch self {
    case .attempt(let number, let error, let delay):
      .attempt(number: number, error: change(error), delay: delay)
    case .limited(let connections, let error):
      .limited(connections: connections, error: change(error))
    case .finished(let result): .finished(result.mapError(change))
    case .added, .target, .phase, .waiting, .paused, .resumed, .progress, .connections, .moved,
      .removed, .snapshot:
      self
    }
  }
}

extension TransferEvent.Initiator: CustomStringConvertible {
  /// The raw value.
  public var description: String { rawValue }
}

/// The progress of a transfer.
public struct TransferProgress: Sendable, Hashable, Codable {
  /// Bytes of the file on disk, including those of earlier runs.
  public let bytes: Int64
  /// The whole length in bytes; nil while it is unknown.
  public let total: Int64?
  /// Bytes per second over the last seconds.
  public let rate: Double
  /// Connections in use.
  public let connections: Int

  /// Progress, for previews, fakes and tests.
  /// - Parameters: the values of the properties of the same names.
  public init(bytes: Int64, total: Int64? = nil, rate: Double = 0, connections: Int = 1) {
    self.bytes = bytes
    self.total = total
    self.rate = rate
    self.connections = connections
  }

  /// From 0 to 1, and 1 only when complete; nil while the length is unknown.
  public var fraction: Double? {
    guard let total, total >= 0 else { return nil }
    if bytes >= total { return 1 }
    return max(0, min(Double(bytes) / Double(total), 1.0.nextDown))
  }

  /// From 0 to 100, rounded down, and 100 only when complete; nil while the length is unknown.
  public var percent: Int? { fraction.map { Int($0 * 100) } }

  /// Whether it is complete.
  package var isWhole: Bool { total.map { bytes >= $0 } ?? false }

  /// Seconds until the end at the present rate, at most 10¹²; nil while the length or rate is
  /// unknown.
  public var secondsLeft: Double? {
    guard let total, rate > 0 else { return nil }
    return min(max(0, (Double(total) - Double(bytes)) / rate), 1e12)
  }
}

/// How a transfer ended.
public struct TransferResult: Sendable, Hashable {
  /// The three ends.
  public enum State: String, Sendable, Hashable, Codable {
    case completed, failed, cancelled
  }

  /// What proves the content.
  public enum Verification: String, Sendable, Hashable, Codable {
    /// All requested digests match.
    case checksum
    /// Every byte of the announced length was received.
    case length
    /// A chunked body with its final chunk was received.
    case framing
    /// Nothing: the body ended when the connection closed.
    case unverified
  }

  /// Shared, because it is copied with every event and record.
  private final class Box: Sendable {
    let parts: Parts
    /// Beside them, because it is not encoded: it may hold secrets.
    let response: TransferResponse?

    init(_ parts: Parts, _ response: TransferResponse?) {
      (self.parts, self.response) = (parts, response)
    }
  }

  struct Parts: Sendable, Hashable, Codable {
    let state: State
    let path: String?
    let bytes: Int64
    let fetched: Int64
    let reused: Int64
    let duration: Duration
    let checksums: [Checksum]
    let verified: Verification?
    let coding: String?
    var error: TransferError?
    let metrics: TransferMetrics?
    var cacheUse: CacheUse?
    var reply: UploadReply?
    var isAdopted: Bool?
    var isUnchanged: Bool?
    var kept: String?
    var sender: ResourceURL?
  }

  private let box: Box
  var parts: Parts { box.parts }

  init(_ parts: Parts, _ response: TransferResponse? = nil) { box = Box(parts, response) }

  /// Which end it was.
  public var state: State { box.parts.state }
  /// The final path, once completed. Also set if a restart did not complete, because the older file
  /// still exists.
  public var path: String? { box.parts.path }
  /// Length of the file in bytes.
  public var bytes: Int64 { box.parts.bytes }
  /// Body bytes that this run received from the network.
  public var fetched: Int64 { box.parts.fetched }
  /// Bytes found on disk from earlier runs.
  public var reused: Int64 { box.parts.reused }
  /// The duration of this run.
  public var duration: Duration { box.parts.duration }
  /// The digests that verified it.
  public var checksums: [Checksum] { box.parts.checksums }
  /// What proves the content, once completed.
  public var verified: Verification? { box.parts.verified }
  /// The content coding of the file, such as `gzip`, if the server sent one that was not requested
  /// and that was not decoded.
  public var coding: String? { box.parts.coding }
  /// Why it failed.
  public var error: TransferError? { box.parts.error }
  /// Network figures of this run; nil if it sent no request.
  public var metrics: TransferMetrics? { box.parts.metrics }
  /// The server's last answer in this run, also of one that failed; nil if there was none. A
  /// manager keeps those of the 1,000 transfers that ended last. They are not stored or encoded: a
  /// list that is opened again has none.
  public var response: TransferResponse? { box.response }
  /// What may be shown of the answer to an upload that the server has taken with PUT or POST; nil
  /// for nothing. It is not stored.
  package var reply: UploadReply? { box.parts.reply }
  /// Whether another run of the same upload has published the file, perhaps on another machine, and
  /// this one has replaced nothing.
  public var isAdopted: Bool { box.parts.isAdopted ?? false }
  /// Whether the run has found a file there that it accepts as the requested one, and has changed
  /// nothing.
  package var isUnchanged: Bool { box.parts.isUnchanged ?? false }
  /// The name that was asked for, if a file has it that is no unchanged download: the new file is
  /// beside it, with a number. Nil otherwise.
  package var kept: String? { box.parts.kept }
  /// The address that sent its bytes, if redirects have left the origin of the given one; nil for
  /// the given server. It is not stored.
  package var sender: ResourceURL? { box.parts.sender }
  /// Where its bytes came from; nil if no cache was asked.
  package var cacheUse: CacheUse? { box.parts.cacheUse }

  /// A result as a manager returns it, for previews, fakes and tests.
  /// - Parameters: the values of the properties of the same names.
  public init(
    state: State, path: String? = nil, bytes: Int64 = 0, fetched: Int64 = 0, reused: Int64 = 0,
    duration: Duration = .zero, checksums: [Checksum] = [], verified: Verification? = nil,
    coding: String? = nil, error: TransferError? = nil, metrics: TransferMetrics? = nil,
    response: TransferResponse? = nil
  ) {
    self.init(
      Parts(
        state: state, path: path, bytes: bytes, fetched: fetched, reused: reused,
        duration: duration, checksums: checksums, verified: verified, coding: coding,
        error: error, metrics: metrics), response)
  }

  private func changing(_ change: (inout Parts) -> Void) -> TransferResult {
    var parts = parts
    change(&parts)
    return TransferResult(parts, response)
  }

  /// The same result of an upload, with what the server said.
  package func noting(_ reply: UploadReply?) -> TransferResult { changing { $0.reply = reply } }

  /// The same result with what the server answered last.
  package func noting(_ response: TransferResponse?) -> TransferResult {
    response == nil && box.response == nil ? self : TransferResult(parts, response)
  }

  /// The same result of an upload that another run has published.
  package func notingAdoption() -> TransferResult { changing { $0.isAdopted = true } }

  /// The same result of a run that has changed nothing.
  package func notingUnchanged() -> TransferResult { changing { $0.isUnchanged = true } }

  /// The same result of a file beside one of this name, which was kept; nil for none.
  package func noting(kept: String?) -> TransferResult {
    kept == nil ? self : changing { $0.kept = kept }
  }

  /// The same result of bytes that came from another origin.
  package func noting(sender: ResourceURL) -> TransferResult { changing { $0.sender = sender } }

  /// The same result of a run that asked a cache.
  package func noting(_ use: CacheUse) -> TransferResult { changing { $0.cacheUse = use } }

  /// The same result with another error, if it has one.
  package func mapError(_ change: (TransferError) -> TransferError) -> TransferResult {
    error.map { error in changing { $0.error = change(error) } } ?? self
  }

  /// Whether all their fields are equal, except the responses, which are not stored.
  public static func == (left: TransferResult, right: TransferResult) -> Bool {
    left.box === right.box || left.box.parts == right.box.parts
  }

  /// Hashes what `==` compares.
  public func hash(into hasher: inout Hasher) { hasher.combine(box.parts) }
}

extension TransferResult: CustomReflectable {
  /// Its fields.
  public var customMirror: Mirror {
    Mirror(self, children: Mirror(reflecting: box.parts).children, displayStyle: .struct)
  }
}
