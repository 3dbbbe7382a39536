package import HaulCore

/// What is only shown of a transfer that is looked at: the state of its bytes, and its past.
package struct DetailsDocument: Codable, Hashable, Sendable {
  package struct Attempt: Codable, Hashable, Sendable {
    package var number: Int
    /// When it failed, in seconds since 1970.
    package var time: Double
    package var error: TransferDocument.Failure
    /// Seconds until the next one.
    package var delay: Double

    package init(number: Int, time: Double, error: TransferError, delay: Duration) {
      (self.number, self.time) = (number, time)
      (self.error, self.delay) = (.init(error), delay / .seconds(1))
    }
  }

  package var id: TransferID
  package var length: Int64?
  /// Pairs of the first byte and the one after the last; nil unless it runs.
  package var present: [[Int64]]?
  package var active: [[Int64]]
  /// The last ones since the daemon was started.
  package var attempts: [Attempt]
  /// In seconds since 1970; nil if that is unknown, or has not happened.
  package var added: Double?
  package var started: Double?
  package var ended: Double?
  /// The files that an upload sends.
  package var sources: [String]?
  /// Nil over TCP.
  package var request: Request?
  /// Whether the file of a completed download is no longer there.
  package var isMissing: Bool?

  enum CodingKeys: String, CodingKey {
    case id, length, present, active, attempts, added, started, ended, sources, request
    case isMissing = "missing"
  }

  package init(id: TransferID) { (self.id, active, attempts) = (id, [], []) }
}

/// The ids of the whole list, in its order.
package struct OrderDocument: Codable, Hashable, Sendable {
  package var ids: [TransferID]

  package init(ids: [TransferID]) { self.ids = ids }
}
