/// The changes of one command, or of one batch of commands: stored as a whole or not at all.
public struct StoreChange: Sendable {
  /// The new state of one transfer.
  public struct Update: Sendable, Hashable {
    /// The transfer.
    public var id: TransferID
    /// Its new state.
    public var storedState: StoredState
    /// Its new result; nil for no change.
    public var result: TransferResult?
    /// Its new request; nil for no change.
    public var request: TransferRequest? {
      get { if case .request(let request) = requestChange { request } else { nil } }
      set { requestChange = newValue.map { .request($0) } ?? .unchanged }
    }
    private var requestChange: RequestChange
    /// Whether rank and priority are unchanged, so that they need not be written.
    public var keepsRankAndPriority: Bool

    /// A change of these parts.
    public init(
      id: TransferID, storedState: StoredState, result: TransferResult? = nil,
      request: TransferRequest? = nil, keepsRankAndPriority: Bool = false
    ) {
      self.id = id
      self.storedState = storedState
      self.result = result
      requestChange = request.map { .request($0) } ?? .unchanged
      self.keepsRankAndPriority = keepsRankAndPriority
    }

    /// Separate, because few updates have a request, and many updates are copied often.
    private enum RequestChange: Hashable {
      case unchanged
      indirect case request(TransferRequest)
    }
  }

  /// The key of an `add` and the ids that it created; the same call after a crash finds them.
  public struct Batch: Sendable, Hashable {
    /// The caller's name for the batch.
    public var key: String
    /// The ids that were added, in order.
    public var ids: [TransferID]

    /// A batch with that key.
    public init(key: String, ids: [TransferID]) {
      self.key = key
      self.ids = ids
    }
  }

  /// The present time, in seconds since 1970: new records were added then, and new results are of
  /// then.
  package var time: Double?
  /// New records.
  public var added: [TransferRecord] = []
  /// New states of other transfers.
  public var updated: [Update] = []
  /// Transfers that leave the list.
  public var removed: [TransferID] = []
  /// Removed transfers that were completed: they are deleted from every `after` of stored requests.
  public var satisfiedDependencies: [TransferID] = []
  /// In order; their numbers follow the last stored one.
  public var events: [StoredEvent] = []
  /// The call that added the records, if it had a key.
  public var batch: Batch?
  /// Processes that are about to run for members. Each is kept until its member has another one, or
  /// is removed.
  public var programs: [StoredProcess] = []
  /// The new locations of bytes. Each is kept until its member has another one or none, or is
  /// removed.
  public var locations: [StoredLocation] = []
  /// Uploads that must still be aborted. Each is kept until it is in `endedAborts`, also after its
  /// member is removed. They hold secrets.
  public var pendingAborts: [PendingAbort] = []
  /// The uploads that need no abort any more.
  public var endedAborts: [TransferID] = []

  /// An empty change.
  public init() {}

  /// Whether it changes nothing.
  public var isEmpty: Bool {
    added.isEmpty && updated.isEmpty && removed.isEmpty && satisfiedDependencies.isEmpty
      && events.isEmpty
      && batch == nil && programs.isEmpty && locations.isEmpty && pendingAborts.isEmpty
      && endedAborts.isEmpty
  }
}

extension StoreChange {
  /// Removes what servers answered: it may hold secrets, and is large.
  package mutating func removeResponses() {
    for index in updated.indices {
      updated[index].result = updated[index].result?.noting(nil as TransferResponse?)
    }
    for index in events.indices {
      guard case .finished(let result) = events[index].kind, result.response != nil else {
        continue
      }
      events[index] = StoredEvent(
        number: events[index].number, id: events[index].id,
        kind: .finished(result.noting(nil as TransferResponse?)), groupEnd: events[index].groupEnd)
    }
  }
}
