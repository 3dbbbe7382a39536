/// What the queue needs to know about each member to decide; without request and result.
package struct QueuedMember: Sendable, Hashable {
  package let id: TransferID
  package var storedState: StoredState
  package var host: String?
  package var group: String?
  package var identifier: String?
  /// Ids only: identifiers were looked up when the member was added.
  package var after: [TransferID]
  package var whenDependencyFails: TransferRequest.DependencyPolicy
  /// Whether its start is stored: it is a step, or an upload that must not be sent twice.
  package var storesStart: Bool
  package var isIdempotent: Bool
  /// The exact path of its file.
  package var target: FilePath?

  package init(_ record: TransferRecord) {
    id = record.id
    target = record.request.exactTarget
    storedState = record.storedState
    host = record.request.host
    group = record.request.group
    identifier = record.request.identifier
    after = record.request.after.compactMap {
      if case .transfer(let id) = $0 { id } else { nil }
    }
    whenDependencyFails = record.request.whenDependencyFails
    (storesStart, isIdempotent) = record.request.work.repetition
  }

  /// A member from its parts, without a record.
  package init(
    id: TransferID, storedState: StoredState, host: String?, group: String?, identifier: String?,
    after: [TransferID], whenDependencyFails: TransferRequest.DependencyPolicy, storesStart: Bool,
    isIdempotent: Bool
  ) {
    self.id = id
    self.storedState = storedState
    self.host = host
    self.group = group
    self.identifier = identifier
    self.after = after
    self.whenDependencyFails = whenDependencyFails
    self.storesStart = storesStart
    self.isIdempotent = isIdempotent
  }
}

extension TransferRequest.Work {
  /// Whether its start is stored, and whether it may then run again after a crash.
  package var repetition: (storesStart: Bool, isIdempotent: Bool) {
    switch self {
    case .download: (false, true)
    case .upload(let upload): (!upload.isIdempotent, upload.isIdempotent)
    case .step(let step): (true, step.isIdempotent)
    }
  }
}
