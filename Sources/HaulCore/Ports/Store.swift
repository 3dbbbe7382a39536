/// Which records a page shows.
public struct RecordQuery: Sendable, Hashable {
  /// Nil: every one.
  public var statuses: Set<TransferStatus>?
  /// Nil: of every group, and of none.
  public var group: String?
  /// Only those behind this rank.
  public var afterRank: Int64?
  /// How many records at most.
  public var atMost: Int

  /// A query; the first 100 records unless told.
  public init(
    statuses: Set<TransferStatus>? = nil, group: String? = nil, afterRank: Int64? = nil,
    atMost: Int = 100
  ) {
    self.statuses = statuses
    self.group = group
    self.afterRank = afterRank
    self.atMost = atMost
  }
}

/// Where the list lives, as a port: owns what was asked for, never bytes on disk.
/// `TransferManager.init(store:_:transport:steps:)` takes one of yours.
///
/// One manager at a time has it. Calls come one after the other, but for reads, which may come at
/// any time and see whole changes only. Everything here must be stored as it is: requests and
/// results are `Codable`, and hold secrets.
public protocol Store: Sendable {
  /// Whether what is stored outlives the process.
  var isDurable: Bool { get }
  /// Everything that decisions need. Called once, first.
  /// - Throws: `io`, when the store cannot be read.
  func open() async throws(TransferError) -> StoredQueue
  /// Makes the change as a whole; it survives a power cut when this returns, if the store is
  /// durable.
  ///
  /// First comes what is added, then updates, removals, and what is satisfied. Updates of unknown
  /// ids, removals, programs and places of them, do nothing. An id that is there already cannot be
  /// added, nor can two members have one identifier at any time.
  /// - Throws: `io`, `disk-full`; nothing has changed then.
  func commit(_ change: StoreChange) async throws(TransferError)
  /// The records of these ids, in the order of the ids; unknown ones are left out.
  /// - Throws: `io`.
  func records(_ ids: [TransferID]) async throws(TransferError) -> [TransferRecord]
  /// The records that a query asks for, in the order of their ranks.
  /// - Throws: `io`.
  func records(where query: RecordQuery) async throws(TransferError) -> [TransferRecord]
  /// The ids that an earlier batch of this key added; nil when there was none.
  /// - Throws: `io`.
  func batch(_ key: String) async throws(TransferError) -> [TransferID]?
  /// The events from this number on, at most so many; nil when the log does not reach back so far.
  /// - Throws: `io`.
  func events(from number: Int, atMost: Int) async throws(TransferError) -> [StoredEvent]?
  /// Lets go of it; a second call does nothing.
  func close() async
}
