package import HaulCore

/// A transfer of the daemon's list, as JSON. Unknown values are null, never left out.
package struct TransferDocument: Codable, Hashable, Sendable {
  package var id: TransferID
  package var kind: TransferRequest.Kind
  /// The name of the file, the program or the step.
  package var name: String
  /// Without secrets.
  package var url: String?
  package var identifier: String?
  package var group: String?
  package var priority: String
  package var state: TransferState
  package var phase: String?
  package var waiting: Wait?
  package var bytes: Int64
  /// The bytes of a running upload that the server is known to have.
  package var acknowledged: Int64?
  package var total: Int64?
  package var fraction: Double?
  /// Bytes per second.
  package var rate: Double
  /// Nil unless it runs.
  package var connections: Int?
  /// Its own limit, in bytes per second; nil for none.
  package var rateLimit: Int64?
  /// When it may start, in seconds since 1970; nil once it no longer waits for that time.
  package var startsAt: Double?
  /// In seconds since 1970; nil if it was before the daemon was started.
  package var added: Double?
  package var ended: Double?
  /// Whether a command put it before others: `first`, or `forced`; nil for neither.
  package var start: String?
  /// Whether it is a program that should stop, and runs to its end, unless it is cancelled.
  package var runsToEnd: Bool
  /// Where a finished download is.
  package var path: String?
  package var error: Failure?
  /// Once it has ended.
  package var result: EventDocument.Result?

  package init(
    id: TransferID, kind: TransferRequest.Kind = .download, name: String, url: String?,
    identifier: String?, group: String?,
    priority: String, state: TransferState, phase: String?, waiting: Wait?, bytes: Int64,
    total: Int64?, fraction: Double?, rate: Double, path: String?, error: Failure?,
    result: EventDocument.Result? = nil, connections: Int? = nil, rateLimit: Int64? = nil,
    startsAt: Double? = nil, start: String? = nil, runsToEnd: Bool = false,
    acknowledged: Int64? = nil
  ) {
    (self.id, self.kind, self.name, self.url) = (id, kind, name, url)
    (self.identifier, self.group, self.priority) = (identifier, group, priority)
    (self.state, self.phase, self.waiting) = (state, phase, waiting)
    (self.bytes, self.total, self.fraction, self.rate) = (bytes, total, fraction, rate)
    (self.path, self.error, self.result) = (path, error, result)
    (self.connections, self.rateLimit, self.startsAt) = (connections, rateLimit, startsAt)
    (self.start, self.runsToEnd, self.acknowledged) = (start, runsToEnd, acknowledged)
  }

  enum CodingKeys: String, CodingKey {
    case id, kind, name, url, identifier, group, priority, state, phase, waiting, bytes,
      acknowledged
    case total, fraction, rate, connections
    case rateLimit = "rate_limit"
    case startsAt = "starts_at"
    case added, ended, start
    case runsToEnd = "runs_to_end"
    case path, error, result
  }
}

extension TransferDocument {
  /// Seconds until it is complete at this rate; nil if unknown.
  package var secondsLeft: Double? {
    TransferProgress(bytes: bytes, total: total, rate: rate).secondsLeft
  }

  package func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: CodingKeys.self)
    try object.encode(id, forKey: .id)
    try object.encode(kind, forKey: .kind)
    try object.encode(name, forKey: .name)
    try object.encode(url, forKey: .url)
    try object.encode(identifier, forKey: .identifier)
    try object.encode(group, forKey: .group)
    try object.encode(priority, forKey: .priority)
    try object.encode(state, forKey: .state)
    try object.encode(phase, forKey: .phase)
    try object.encode(waiting, forKey: .waiting)
    try object.encode(bytes, forKey: .bytes)
    try object.encode(acknowledged, forKey: .acknowledged)
    try object.encode(total, forKey: .total)
    try object.encode(fraction, forKey: .fraction)
    try object.encode(rate, forKey: .rate)
    try object.encode(connections, forKey: .connections)
    try object.encode(rateLimit, forKey: .rateLimit)
    try object.encode(startsAt, forKey: .startsAt)
    try object.encode(added, forKey: .added)
    try object.encode(ended, forKey: .ended)
    try object.encode(start, forKey: .start)
    try object.encode(runsToEnd, forKey: .runsToEnd)
    try object.encode(path, forKey: .path)
    try object.encode(error, forKey: .error)
    try object.encode(result, forKey: .result)
  }
}

/// A page of the list, in its order.
package struct TransferPage: Codable, Hashable, Sendable {
  package var transfers: [TransferDocument]
  /// The last id of this page, for `after`; nil on the last page.
  package var next: TransferID?

  package init(transfers: [TransferDocument], next: TransferID?) {
    (self.transfers, self.next) = (transfers, next)
  }
}
