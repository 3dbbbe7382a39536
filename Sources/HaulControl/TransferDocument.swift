package import HaulCore

/// A transfer of the daemon's list, as JSON. Unknown values are null, never left out.
package struct TransferDocument: Codable, Hashable, Sendable {
  package var id: TransferID
  package var kind = TransferRequest.Kind.download
  /// The name of the file, the program or the step.
  package var name: String
  /// The program and its arguments; nil for other work, and over TCP.
  @Nullable package var program: [String]?
  /// Without secrets.
  @Nullable package var url: String?
  @Nullable package var identifier: String?
  @Nullable package var group: String?
  package var priority = TransferRequest.Priority.default.name
  package var state: TransferState
  @Nullable package var phase: String?
  @Nullable package var waiting: Wait?
  package var bytes: Int64 = 0
  /// The bytes of a running upload that the server is known to have.
  @Nullable package var acknowledged: Int64?
  @Nullable package var total: Int64?
  @Nullable package var fraction: Double?
  /// Bytes per second.
  package var rate = 0.0
  /// Nil unless it runs.
  @Nullable package var connections: Int?
  /// Its own limit, in bytes per second; nil for none.
  @Nullable package var rateLimit: Int64?
  /// When it may start, in seconds since 1970; nil once it no longer waits for that time.
  @Nullable package var startsAt: Double?
  /// When it runs again, as `12h` or `mon-fri 06:00`; nil if it does not repeat.
  @Nullable package var every: String?
  /// When it runs next, in seconds since 1970; nil if it does not repeat, has ended or is paused.
  @Nullable package var nextRun: Double?
  /// While it repeats: how the last of its runs ended; nil if none has.
  @Nullable package var lastRun: LastRun?
  /// In seconds since 1970; nil if that is unknown, or has not happened.
  @Nullable package var added: Double?
  @Nullable package var ended: Double?
  /// Whether a command put it before others: `first`, or `forced`; nil for neither.
  @Nullable package var start: String?
  /// Whether it is a program that should stop, and runs to its end, unless it is cancelled.
  package var runsToEnd = false
  /// Where a finished download is.
  @Nullable package var path: String?
  @Nullable package var error: Failure?
  /// Once it has ended.
  @Nullable package var result: EventDocument.Result?

  package init(id: TransferID, name: String, state: TransferState) {
    (self.id, self.name, self.state) = (id, name, state)
  }

  enum CodingKeys: String, CodingKey {
    case id, kind, name, program, url, identifier, group, priority, state, phase, waiting, bytes,
      acknowledged
    case total, fraction, rate, connections
    case rateLimit = "rate_limit"
    case startsAt = "starts_at"
    case every
    case nextRun = "next_run"
    case lastRun = "last_run"
    case added, ended, start
    case runsToEnd = "runs_to_end"
    case path, error, result
  }
}

extension TransferDocument {
  /// A run of a transfer that repeats.
  package struct LastRun: Codable, Hashable, Sendable {
    /// `completed` or `failed`.
    package var state: String
    /// In seconds since 1970; nil if that is unknown.
    @Nullable package var ended: Double?
    /// Bytes that were fetched: of a file that had not changed, none.
    package var fetched: Int64
    /// Where its file is.
    @Nullable package var path: String?
    @Nullable package var error: Failure?
    /// As in a result.
    @Nullable package var isUnchanged: Bool?
    @Nullable package var kept: String?

    package init(_ result: TransferResult, ended: Double?) {
      (state, fetched, path) = (result.state.rawValue, result.fetched, result.path)
      (self.ended, error) = (ended, result.error.map { Failure($0) })
      (isUnchanged, kept) = (result.isUnchanged, result.kept)
    }

    enum CodingKeys: String, CodingKey {
      case state, ended, fetched, path, error
      case isUnchanged = "is_unchanged"
      case kept
    }
  }

  /// How its last run ended, while it waits for the next one; nil otherwise.
  package var restingState: String? {
    state == .queued && waiting?.code == "start-time" ? lastRun?.state : nil
  }

  /// Seconds until it is complete at this rate; nil if unknown.
  package var secondsLeft: Double? {
    TransferProgress(bytes: bytes, total: total, rate: rate).secondsLeft
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
