/// Which records a page contains.
public struct RecordQuery: Sendable, Hashable {
  /// Nil for every status.
  public var statuses: Set<StoredStatus>?
  /// Nil for every group, and for transfers without one.
  public var group: String?
  /// Only records after this rank.
  public var afterRank: Int64?
  /// The most records.
  public var atMost: Int

  /// A query, by default for the first 100 records.
  public init(
    statuses: Set<StoredStatus>? = nil, group: String? = nil, afterRank: Int64? = nil,
    atMost: Int = 100
  ) {
    self.statuses = statuses
    self.group = group
    self.afterRank = afterRank
    self.atMost = atMost
  }
}

/// The storage of the list, as a port. It holds requests, states and results, but never downloaded
/// bytes. `TransferManager.init(store:_:transport:steps:)` accepts your own.
///
/// One manager at a time uses it. Writes come one after the other. Reads may come at any time, and
/// must see only whole changes. Store everything unchanged: requests and results are `Codable`, and
/// hold secrets.
public protocol Store: Sendable {
  /// Whether stored data outlives the process.
  var isDurable: Bool { get }
  /// Returns everything that decisions need. Called once, before all others.
  /// - Throws: `io` if the store cannot be read.
  func open() async throws(TransferError) -> StoredQueue
  /// Stores the change as a whole. If the store is durable, it survives a power cut once this
  /// returns.
  ///
  /// The order is: added records, updates, removals, satisfied ids. Updates, removals, programs and
  /// locations of unknown ids have no effect. An existing id cannot be added, and two members can
  /// never have the same identifier.
  /// - Throws: `io`, `disk-full`; nothing has changed then.
  func commit(_ change: StoreChange) async throws(TransferError)
  /// The records of these ids, in the order of the ids, without unknown ones.
  /// - Throws: `io`.
  func records(_ ids: [TransferID]) async throws(TransferError) -> [TransferRecord]
  /// The records of a query, in the order of their ranks.
  /// - Throws: `io`.
  func records(where query: RecordQuery) async throws(TransferError) -> [TransferRecord]
  /// The ids that an earlier batch with this key added; nil if there was none.
  /// - Throws: `io`.
  func batch(_ key: String) async throws(TransferError) -> [TransferID]?
  /// At most `atMost` events from this number on; nil if the log no longer has that number.
  /// - Throws: `io`.
  func events(from number: Int, atMost: Int) async throws(TransferError) -> [StoredEvent]?
  /// Releases its resources; a second call has no effect.
  func close() async
}

/// A store that finds members by their addresses without reading all of them.
package protocol AddressSearch: Store {
  /// The queued and paused members with one of these addresses, which are redacted.
  /// - Throws: `io`.
  func unended(at addresses: [String]) async throws(TransferError) -> [TransferID]
}
