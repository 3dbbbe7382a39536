/// Decides about one upload. It takes events and returns commands, and has no side effects.
package protocol UploadMachine: Sendable {
  /// The health of the host; set before each failure.
  var hostHealth: HostHealth { get set }

  /// Handles one event, and returns what to do, in order.
  mutating func handle(
    _ event: UploadEvent, at now: Instant, using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand]
}

package enum UploadEvent: Sendable {
  /// Its connection may be used. With what an earlier run stored.
  case start(UploadRecord?)
  /// `sent`: the bytes of the body that the connection took.
  indirect case answered(ResponseHead, sent: Int64, wallSeconds: Double)
  case failed(TransferError, sent: Int64)
  /// What `store` asked for is on disk; or why it is not.
  case stored(TransferError?)
  /// The file was compared with what it was; the error says what differs.
  case sourceChecked(TransferError?)
}

package enum UploadCommand: Sendable, Hashable {
  case send(UploadMessage)
  /// Store what a later run needs, before anything else is sent.
  case storeRecord(UploadRecord)
  /// Delete what is stored.
  case deleteRecord
  /// The server has so many bytes of the file.
  case reportAcknowledged(Int64)
  case checkSource
  /// Give the slot back, and `start` again after the delay.
  case retry(after: Duration, attempt: Int, TransferError)
  case finish(UploadEnd)
}

package enum UploadEnd: Sendable, Hashable {
  case completed
  case failed(TransferError)
}

/// One request of an upload. Its body is a range of the file.
package struct UploadMessage: Sendable, Hashable {
  package var method: String
  package var url: ResourceURL
  /// The caller's fields, and those of the protocol.
  package var fields: HeaderFields
  /// The bytes of the file to send; nil for a request without a body.
  package var range: ByteRange?
  /// The whole body, if it is not a range of one file; nil for none.
  package var pieces: [UploadPiece]?

  package init(
    _ method: String, _ url: ResourceURL, fields: HeaderFields, range: ByteRange? = nil
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.range = range
  }
}

/// What a later run needs to continue an upload. The address is a secret: a client needs nothing
/// else to write.
package struct UploadRecord: Sendable, Hashable, Codable {
  /// Where the server takes the bytes.
  package var address: String
  /// Which version of the file they are of.
  package var source: SourceIdentity
  /// The version of the protocol, if it has several.
  package var version: Int?

  package init(address: String, source: SourceIdentity, version: Int? = nil) {
    self.address = address
    self.source = source
    self.version = version
  }
}
