package import HaulCore

/// An event of a transfer as JSON, for `--json`, the event stream and its clients: one flat object.
/// It has all keys of its type, null if unknown, and no others. `number`, `url`, `identifier` and
/// `group` are left out if there is none.
package struct EventDocument: Codable, Hashable, Sendable {
  package enum Name: String, Codable, Sendable {
    case added, target, phase, waiting, paused, resumed, progress, attempt, limited, connections
    case finished, moved, removed, changed
  }

  /// What happened. Each case has the keys of one type.
  package enum Content: Hashable, Sendable {
    /// The kind is nil if the transfer could not be read.
    case added(TransferRequest.Kind?, target: String?)
    case target(String, reason: String?)
    case phase(TransferEvent.Phase, reason: String?)
    case waiting(TransferDocument.Wait)
    case paused(by: TransferEvent.Initiator)
    case resumed(by: TransferEvent.Initiator)
    case progress(TransferProgress)
    /// The delay is in seconds.
    case attempt(Int, TransferDocument.Failure, delay: Double)
    case limited(Int, TransferDocument.Failure)
    case connections(ConnectionChoice)
    case finished(Result)
    case moved, removed
    /// Its request has changed, or the subscriber missed events.
    case changed
  }

  package var id: TransferID
  /// The number of a stored state change; numbers increase.
  package var number: Int?
  /// Without secrets.
  package var url: String?
  package var identifier: String?
  package var group: String?
  package var content: Content

  /// - Parameters:
  ///   - wallSeconds: the present time, in seconds since 1970.
  ///   - isBackground: whether the daemon runs the transfer.
  ///   - message: the text of an error.
  package init(
    _ event: TransferEvent, at wallSeconds: Double, isBackground: Bool = true,
    message: (TransferError) -> String = \.message
  ) {
    (id, number, url) = (event.id, event.number, event.url?.redacted)
    (identifier, group) = (event.identifier, event.group)
    func failure(_ error: TransferError) -> TransferDocument.Failure {
      .init(error, message: message(error))
    }
    content =
      switch event.kind {
      case .added(let target): .added(event.identity?.kind, target: target)
      case .target(let path, let reason): .target(path, reason: reason)
      case .phase(let phase, let reason): .phase(phase, reason: reason)
      case .waiting(let reason): .waiting(.init(reason, at: wallSeconds))
      case .paused(let initiator): .paused(by: initiator)
      case .resumed(let initiator): .resumed(by: initiator)
      case .progress(let progress): .progress(progress)
      case .attempt(let number, let error, let delay):
        .attempt(number, failure(error), delay: JSONNumber.seconds(delay))
      case .limited(let connections, let error): .limited(connections, failure(error))
      case .connections(let choice): .connections(choice)
      case .finished(let result):
        .finished(Result(result, isBackground: isBackground, error: result.error.map(failure)))
      case .moved: .moved
      case .removed: .removed
      case .snapshot: .changed
      }
  }

  package var type: Name {
    switch content {
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
    case .changed: .changed
    }
  }
}

/// Back to the library's values.
extension EventDocument {
  /// Nil for an event that the library does not have: a `changed` request, or a wait of another
  /// version.
  package var event: TransferEvent? {
    var requestKind: TransferRequest.Kind?
    if case .added(let kind, _) = content { requestKind = kind }
    return content.kind.map { kind in
      TransferEvent(
        number: number, id: id,
        identity: TransferIdentity(
          url: url.flatMap { try? ResourceURL($0) }, identifier: identifier, group: group,
          kind: requestKind),
        kind: kind)
    }
  }
}

extension EventDocument.Content {
  fileprivate var kind: TransferEvent.Kind? {
    switch self {
    case .added(_, let target): .added(target: target)
    case .target(let path, let reason): .target(path, reason: reason)
    case .phase(let phase, let reason): .phase(phase, reason: reason)
    case .waiting(let wait): wait.reason.map { .waiting($0) }
    case .paused(let initiator): .paused(by: initiator)
    case .resumed(let initiator): .resumed(by: initiator)
    case .progress(let progress): .progress(progress)
    case .attempt(let number, let failure, let delay):
      .attempt(number: number, error: failure.error, delay: .seconds(delay))
    case .limited(let connections, let failure):
      .limited(connections: connections, error: failure.error)
    case .connections(let choice): .connections(choice)
    case .finished(let result): .finished(result.result)
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
