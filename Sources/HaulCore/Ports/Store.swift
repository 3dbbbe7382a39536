/// The durable state of a transfer; what it does right now is never stored.
package enum TransferStatus: String, Sendable, Hashable, Codable {
  case queued, paused, failed, completed, cancelled
}

/// One transfer as it is stored.
package struct TransferRecord: Sendable, Hashable {
  package let id: TransferID
  package let request: TransferRequest
  package var status: TransferStatus
  /// How it ended last, if it has.
  package var result: TransferResult?

  package init(
    id: TransferID, request: TransferRequest, status: TransferStatus = .queued,
    result: TransferResult? = nil
  ) {
    self.id = id
    self.request = request
    self.status = status
    self.result = result
  }
}

/// Where the queue lives: owns what was asked for, never bytes on disk.
package protocol Store: Sendable {
  /// Adds all or none, at the end of the order.
  /// - Throws: `io`.
  func insert(_ records: [TransferRecord]) async throws(TransferError)
  /// Replaces the record of the same id.
  /// - Throws: `io`.
  func update(_ record: TransferRecord) async throws(TransferError)
  /// Every record, in order.
  /// - Throws: `io`.
  func records() async throws(TransferError) -> [TransferRecord]
}
