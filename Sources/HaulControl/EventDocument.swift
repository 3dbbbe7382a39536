package import HaulCore

/// An event of a transfer as JSON, for `--json`, the event stream and its clients: one flat object.
/// It has all keys of its type, null if unknown, and no others. `number`, `url`, `identifier` and
/// `group` are left out if there is none.
package struct EventDocument: Codable, Hashable, Sendable {
  package var type: Name
  package var id: TransferID
  /// The number of a stored state change; numbers increase.
  package var number: Int?
  /// Without secrets.
  package var url: String?
  package var identifier: String?
  package var group: String?
  /// What happened, with errors as they are shown. Nil for `changed`: its request has changed, or
  /// the subscriber missed events. Nil too for a wait of another version.
  package var kind: TransferEvent.Kind?
  /// Of `added`; nil if the transfer could not be read.
  var requestKind: TransferRequest.Kind?
  /// Why it waits, of `waiting`.
  var wait: TransferDocument.Wait?
  /// Whether the daemon runs the transfer, of `finished`.
  var isBackground = true

  /// - Parameters:
  ///   - wallSeconds: the present time, in seconds since 1970.
  ///   - isBackground: whether the daemon runs the transfer.
  ///   - message: the text of an error.
  package init(
    _ event: TransferEvent, at wallSeconds: Double, isBackground: Bool = true,
    message: (TransferError) -> String = \.message
  ) {
    type = Name(event.kind)
    (id, number, url) = (event.id, event.number, event.url?.redacted)
    (identifier, group) = (event.identifier, event.group)
    (requestKind, self.isBackground) = (event.identity?.kind, isBackground)
    switch event.kind {
    case .snapshot: break
    case .waiting(let reason): (kind, wait) = (event.kind, .init(reason, at: wallSeconds))
    default:
      kind = event.kind.mapErrors { TransferDocument.Failure($0, message: message($0)).error }
    }
  }

  /// Back to the library's value. Nil for an event that the library does not have.
  package var event: TransferEvent? {
    kind.map { kind in
      TransferEvent(
        number: number, id: id,
        identity: TransferIdentity(
          url: url.flatMap { try? ResourceURL($0) }, identifier: identifier, group: group,
          kind: requestKind),
        kind: kind)
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
