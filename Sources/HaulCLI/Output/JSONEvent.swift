package import HaulCore

/// One line of `--json`. Unknown values are written as `null`, never left out.
package struct JSONEvent: Encodable, Sendable {
  package enum Content: Sendable {
    /// `index` is the number of the address in the command, from 1.
    case transfer(TransferEvent, index: Int)
    case summary(RunCounts)
  }

  /// The number of the line, from 1.
  package var number: Int
  /// When it is written, in seconds since 1970.
  package var wallSeconds: Double
  package var content: Content

  package init(number: Int, wallSeconds: Double, content: Content) {
    self.number = number
    self.wallSeconds = wallSeconds
    self.content = content
  }

  package func encode(to encoder: any Encoder) throws {
    var line = encoder.container(keyedBy: Key.self)
    try line.encode(number, forKey: .seq)
    try line.encode(JSONLines.time(wallSeconds), forKey: .time)
    switch content {
    case .transfer(let event, let index):
      try line.encode(index, forKey: .index)
      try line.encode(event.id.description, forKey: .id)
      try line.encodeIfPresent(event.url?.redacted, forKey: .url)
      try event.kind.encode(to: &line, at: wallSeconds, event.identity?.kind ?? .download)
    case .summary(let summary):
      try summary.encode(to: &line)
    }
  }

  enum Key: String, CodingKey {
    case type, seq, time, id, index, url
    case kind, target, phase, reason, waiting, by
    case bytes, total, rate, eta, connections
    case attempt, error, delay
    case state, background, path, fetched, reused, cache, duration, checksum, verified, coding
    case warning, reply
    case completed, failed, cancelled, paused
  }
}

private typealias Line = KeyedEncodingContainer<JSONEvent.Key>

extension TransferEvent.Kind {
  /// - Parameter wallSeconds: the time now, in seconds since 1970.
  fileprivate func encode(
    to line: inout Line, at wallSeconds: Double, _ kind: TransferRequest.Kind
  ) throws {
    switch self {
    case .added(let target):
      try line.encode("added", forKey: .type)
      try line.encode(kind.rawValue, forKey: .kind)
      try line.encode(target, forKey: .target)
    case .phase(let phase, let reason):
      try line.encode("phase", forKey: .type)
      try line.encode(phase.rawValue, forKey: .phase)
      try line.encode(reason, forKey: .reason)
      try line.encodeNil(forKey: .waiting)
    case .waiting(let reason):
      try line.encode("phase", forKey: .type)
      try line.encode("waiting", forKey: .phase)
      try line.encode(reason.description(at: wallSeconds), forKey: .reason)
      try line.encode(JSONWaitReason(reason), forKey: .waiting)
    case .target(let path, let reason):
      try line.encode("target", forKey: .type)
      try line.encode(path, forKey: .path)
      try line.encode(reason, forKey: .reason)
    case .paused(let initiator):
      try line.encode("paused", forKey: .type)
      try line.encode(initiator.rawValue, forKey: .by)
    case .resumed(let initiator):
      try line.encode("resumed", forKey: .type)
      try line.encode(initiator.rawValue, forKey: .by)
    case .progress(let progress):
      try progress.encode(to: &line)
    case .attempt(let number, let error, let delay):
      try line.encode("attempt", forKey: .type)
      try line.encode(number, forKey: .attempt)
      try line.encode(JSONError(error), forKey: .error)
      try line.encode(JSONNumber.seconds(delay), forKey: .delay)
    case .limited(let connections, let error):
      try line.encode("limit", forKey: .type)
      try line.encode(connections, forKey: .connections)
      try line.encode(JSONError(error), forKey: .error)
    case .connections(let choice):
      try line.encode("connections", forKey: .type)
      try line.encode(choice.connections, forKey: .connections)
      try line.encode(choice.reason.rawValue, forKey: .reason)
      try line.encode(choice.rate.map(JSONNumber.rate), forKey: .rate)
    case .finished(let result):
      try result.encode(to: &line)
    // For lists; `get` does not emit these.
    case .removed: try line.encode("removed", forKey: .type)
    case .moved: try line.encode("moved", forKey: .type)
    case .snapshot: try line.encode("snapshot", forKey: .type)
    }
  }
}

extension TransferProgress {
  fileprivate func encode(to line: inout Line) throws {
    try line.encode("progress", forKey: .type)
    try line.encode(bytes, forKey: .bytes)
    try line.encode(total, forKey: .total)
    try line.encode(JSONNumber.rate(rate), forKey: .rate)
    try line.encode(secondsLeft.flatMap(JSONNumber.seconds), forKey: .eta)
    try line.encode(connections, forKey: .connections)
  }
}

extension TransferResult {
  fileprivate func encode(to line: inout Line) throws {
    try line.encode("finished", forKey: .type)
    try line.encode(state.rawValue, forKey: .state)
    try line.encode(false, forKey: .background)
    try line.encode(path, forKey: .path)
    try line.encode(bytes, forKey: .bytes)
    try line.encode(fetched, forKey: .fetched)
    try line.encode(reused, forKey: .reused)
    try line.encode(cacheUse?.rawValue, forKey: .cache)
    try line.encode(JSONNumber.seconds(duration), forKey: .duration)
    let digests = checksums.map { ($0.algorithm.rawValue, $0.hex) }
    try line.encode(
      digests.isEmpty ? nil : Dictionary(digests, uniquingKeysWith: { $1 }), forKey: .checksum)
    try line.encode(verified?.rawValue, forKey: .verified)
    try line.encode(coding, forKey: .coding)
    try line.encode(isUnexpectedPage ? "web-page" : nil, forKey: .warning)
    try line.encode(reply.map(JSONReply.init), forKey: .reply)
    try line.encode(error.map(JSONError.init), forKey: .error)
  }
}

extension RunCounts {
  fileprivate func encode(to line: inout Line) throws {
    try line.encode("summary", forKey: .type)
    try line.encode(completed, forKey: .completed)
    try line.encode(failed, forKey: .failed)
    try line.encode(cancelled, forKey: .cancelled)
    try line.encode(paused, forKey: .paused)
    try line.encode(bytes, forKey: .bytes)
    try line.encode(JSONNumber.seconds(duration), forKey: .duration)
  }
}

private struct JSONReply: Encodable {
  let reply: UploadReply

  enum CodingKeys: String, CodingKey { case location, text }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(reply.location, forKey: .location)
    try container.encode(reply.text, forKey: .text)
  }
}
