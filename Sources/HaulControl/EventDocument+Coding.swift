import HaulCore

/// The names of events, and their keys, except those of a result.
extension EventDocument {
  package enum Name: String, Codable, Sendable {
    case added, target, phase, waiting, paused, resumed, progress, attempt, limited, connections
    case finished, moved, removed, changed
  }

  private enum Key: String, CodingKey {
    case type, id, number, url, identifier, group
    case kind, target, path, phase, reason, waiting, by
    case bytes, total, rate, eta, connections
    case attempt, error, delay
  }

  private typealias Writer = KeyedEncodingContainer<Key>
  private typealias Failure = TransferDocument.Failure

  package func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(type.rawValue, forKey: .type)
    try object.encode(id.description, forKey: .id)
    try object.encodeIfPresent(number, forKey: .number)
    try object.encodeIfPresent(url, forKey: .url)
    try object.encodeIfPresent(identifier, forKey: .identifier)
    try object.encodeIfPresent(group, forKey: .group)
    if case .finished(let result)? = kind {
      return try Result(result, isBackground: isBackground).encode(to: encoder)
    }
    try encode(to: &object)
  }

  private func encode(to object: inout Writer) throws {
    if let wait { try object.encode(wait, forKey: .waiting) }
    switch kind {
    case .added(let target)?:
      try object.encode(requestKind?.rawValue, forKey: .kind)
      try object.encode(target, forKey: .target)
    case .target(let path, let reason)?:
      try object.encode(path, forKey: .path)
      try object.encode(reason, forKey: .reason)
    case .phase(let phase, let reason)?:
      try object.encode(phase.rawValue, forKey: .phase)
      try object.encode(reason, forKey: .reason)
    case .paused(let initiator)?, .resumed(let initiator)?:
      try object.encode(initiator.rawValue, forKey: .by)
    case .progress(let progress)?:
      try object.encode(progress.bytes, forKey: .bytes)
      try object.encode(progress.total, forKey: .total)
      try object.encode(JSONNumber.rate(progress.rate), forKey: .rate)
      try object.encode(progress.secondsLeft.flatMap(JSONNumber.seconds), forKey: .eta)
      try object.encode(progress.connections, forKey: .connections)
    case .attempt(let number, let error, let delay)?:
      try object.encode(number, forKey: .attempt)
      try object.encode(Failure(error), forKey: .error)
      try object.encode(JSONNumber.seconds(delay), forKey: .delay)
    case .limited(let connections, let error)?:
      try object.encode(connections, forKey: .connections)
      try object.encode(Failure(error), forKey: .error)
    case .connections(let choice)?:
      try object.encode(choice.connections, forKey: .connections)
      try object.encode(choice.reason.rawValue, forKey: .reason)
      try object.encode(choice.rate.flatMap(JSONNumber.rate), forKey: .rate)
    case .waiting?, .finished?, .moved?, .removed?, .snapshot?, nil: break
    }
  }

  package init(from decoder: any Decoder) throws {
    let object = try decoder.container(keyedBy: Key.self)
    type = try object.value(.type)
    (id, number) = (try object.value(.id), try object.optional(.number))
    url = try object.optional(.url)
    (identifier, group) = (try object.optional(.identifier), try object.optional(.group))
    switch type {
    case .added:
      requestKind = try object.optional(.kind)
      kind = .added(target: try object.optional(.target))
    case .target: kind = .target(try object.value(.path), reason: try object.optional(.reason))
    case .phase: kind = .phase(try object.value(.phase), reason: try object.optional(.reason))
    case .waiting:
      let wait: TransferDocument.Wait = try object.value(.waiting)
      (self.wait, kind) = (wait, wait.reason.map { .waiting($0) })
    case .paused: kind = .paused(by: try object.value(.by))
    case .resumed: kind = .resumed(by: try object.value(.by))
    case .progress:
      kind = .progress(
        TransferProgress(
          bytes: try object.value(.bytes), total: try object.optional(.total),
          rate: try object.optional(.rate) ?? 0, connections: try object.value(.connections)))
    case .attempt:
      let failure: Failure = try object.value(.error)
      kind = .attempt(
        number: try object.value(.attempt), error: failure.error,
        delay: .seconds(try object.value(.delay) as Double))
    case .limited:
      let failure: Failure = try object.value(.error)
      kind = .limited(connections: try object.value(.connections), error: failure.error)
    case .connections:
      kind = .connections(
        ConnectionChoice(
          try object.value(.connections), try object.value(.reason),
          rate: try object.optional(.rate)))
    case .finished:
      let end = try Result(from: decoder)
      (kind, isBackground) = (.finished(end.result), end.isBackground)
    case .moved: kind = .moved
    case .removed: kind = .removed
    case .changed: break
    }
  }
}

extension EventDocument.Name {
  init(_ kind: TransferEvent.Kind) {
    self =
      switch kind {
      case .added: .added
      case .target: .target
      case .phase: .phase
      case .waiting: .waiting
      case .paused: .paused
      case .resumed: .resumed
      case .progress: .progress
      case .attempt: .attempt
      case .limited: .limited
      case .connections: .connections
      case .finished: .finished
      case .moved: .moved
      case .removed: .removed
      case .snapshot: .changed
      }
  }
}

/// Numbers of the documents: finite and not negative.
package enum JSONNumber {
  /// Whole bytes per second; nil for a rate that is not finite or is too large.
  static func rate(_ bytesPerSecond: Double) -> Int64? {
    guard bytesPerSecond.isFinite, bytesPerSecond < 9e18 else { return nil }
    return Int64(max(0, bytesPerSecond).rounded())
  }

  /// Seconds with millisecond precision; nil if they are not finite or too many.
  package static func seconds(_ seconds: Double) -> Double? {
    guard seconds.isFinite, seconds < 1e12 else { return nil }
    return (max(0, seconds) * 1000).rounded() / 1000
  }

  package static func seconds(_ duration: Duration) -> Double {
    seconds(duration / .seconds(1)) ?? 0
  }
}
