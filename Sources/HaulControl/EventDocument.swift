package import HaulCore

/// An event of a transfer, as JSON. Keys that its type does not have are left out.
package struct EventDocument: Codable, Hashable, Sendable {
  package enum Name: String, Codable, CaseIterable, Sendable {
    case added, target, phase, waiting, paused, resumed, progress, attempt, limited, connections
    case finished, moved, removed, changed
  }

  /// Byte counts, and bytes per second.
  package struct Progress: Codable, Hashable, Sendable {
    package var bytes: Int64
    package var total: Int64?
    package var rate: Double
    package var connections: Int
  }

  /// An end.
  package struct Result: Codable, Hashable, Sendable {
    package var state: TransferResult.State
    /// Always true: the daemon ran it.
    package var background: Bool
    package var path: String?
    /// The length of the file.
    package var bytes: Int64
    /// Received from the network by this run.
    package var fetched: Int64
    /// Found on disk.
    package var reused: Int64
    /// Seconds.
    package var duration: Double
    /// As `sha-256=HEX`.
    package var checksums: [String]
    package var verified: TransferResult.Verification?
    package var coding: String?
    package var error: TransferDocument.Failure?
  }

  package var type: Name
  package var id: TransferID
  /// The number of a stored state change; numbers increase.
  package var number: Int?
  /// Without secrets.
  package var url: String?
  package var identifier: String?
  package var group: String?

  /// For `paused` and `resumed`.
  package var by: TransferEvent.Initiator?
  package var phase: TransferEvent.Phase?
  package var reason: String?
  package var path: String?
  package var waiting: TransferDocument.Wait?
  package var progress: Progress?
  package var attempt: Int?
  /// Seconds until the next attempt.
  package var delay: Double?
  /// For `limited` and `connections`: how many there are from now on.
  package var connections: Int?
  /// For `connections`: why there are not more.
  package var choice: ConnectionChoice.Reason?
  package var error: TransferDocument.Failure?
  package var result: Result?

  /// - Parameter wallSeconds: the present time, in seconds since 1970.
  package init(_ event: TransferEvent, at wallSeconds: Double) {
    (type, id, number) = (.changed, event.id, event.number)
    (url, identifier, group) = (event.url?.redacted, event.identifier, event.group)
    switch event.kind {
    case .added(let target): (type, path) = (.added, target)
    case .target(let path, let reason): (type, self.path, self.reason) = (.target, path, reason)
    case .phase(let phase, let reason): (type, self.phase, self.reason) = (.phase, phase, reason)
    case .waiting(let reason): (type, waiting) = (.waiting, .init(reason, at: wallSeconds))
    case .paused(let initiator): (type, by) = (.paused, initiator)
    case .resumed(let initiator): (type, by) = (.resumed, initiator)
    case .progress(let progress): (type, self.progress) = (.progress, .init(progress))
    case .attempt(let number, let error, let delay):
      (type, attempt, self.error) = (.attempt, number, .init(error))
      self.delay = delay / .seconds(1)
    case .limited(let connections, let error):
      (type, self.connections, self.error) = (.limited, connections, .init(error))
    case .connections(let choice):
      (type, connections, self.choice) = (.connections, choice.connections, choice.reason)
    case .finished(let result): (type, self.result) = (.finished, .init(result))
    case .moved: type = .moved
    case .removed: type = .removed
    case .snapshot: type = .changed
    }
  }
}

extension EventDocument.Progress {
  init(_ progress: TransferProgress) {
    self.init(
      bytes: progress.bytes, total: progress.total,
      rate: progress.rate.isFinite ? progress.rate : 0, connections: progress.connections)
  }
}

extension EventDocument.Result {
  init(_ result: TransferResult) {
    self.init(
      state: result.state, background: true, path: result.path, bytes: result.bytes,
      fetched: result.fetched, reused: result.reused, duration: result.duration / .seconds(1),
      checksums: result.checksums.map(\.description), verified: result.verified,
      coding: result.coding, error: result.error.map { .init($0) })
  }
}

/// Back to the library's values.
extension EventDocument.Result {
  package var result: TransferResult {
    TransferResult(
      state: state, path: path, bytes: bytes, fetched: fetched, reused: reused,
      duration: .seconds(duration), checksums: checksums.compactMap(Checksum.init),
      verified: verified, coding: coding, error: error?.error)
  }
}

extension EventDocument {
  /// Nil for an event that the library does not have: a `changed` request, or one of another
  /// version.
  package var event: TransferEvent? {
    kind.map {
      TransferEvent(
        number: number, id: id, url: url.flatMap { try? ResourceURL($0) },
        identifier: identifier, group: group, kind: $0)
    }
  }

  private var kind: TransferEvent.Kind? {
    switch type {
    case .added: .added(target: path)
    case .target: path.map { .target($0, reason: reason) }
    case .phase: phase.map { .phase($0, reason: reason) }
    case .waiting: waiting?.reason.map { .waiting($0) }
    case .paused: by.map { .paused(by: $0) }
    case .resumed: by.map { .resumed(by: $0) }
    case .progress:
      progress.map {
        .progress(
          TransferProgress(
            bytes: $0.bytes, total: $0.total, rate: $0.rate, connections: $0.connections))
      }
    case .attempt:
      error.map {
        .attempt(number: attempt ?? 1, error: $0.error, delay: .seconds(delay ?? 0))
      }
    case .limited: error.map { .limited(connections: connections ?? 1, error: $0.error) }
    case .connections: connections.map { .connections(ConnectionChoice($0, choice ?? .limit)) }
    case .finished: result.map { .finished($0.result) }
    case .moved: .moved
    case .removed: .removed
    case .changed: nil
    }
  }
}

/// What the event stream carries. Its name is that of the server-sent event.
package enum StreamMessage: Hashable, Sendable {
  /// What was known before no longer counts: all transfers follow, then `ready`.
  case reset
  /// The present state of a transfer.
  case transfer(TransferDocument)
  /// The whole list was sent, as it is after the event of this number.
  case ready(number: Int)
  case event(EventDocument)
}
