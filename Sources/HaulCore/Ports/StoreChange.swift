/// What one command, or one batch of them, changes: stored as a whole or not at all.
public struct StoreChange: Sendable {
  /// How one transfer stands from now on.
  public struct Update: Sendable, Hashable {
    /// Of which transfer.
    public var id: TransferID
    /// How it stands.
    public var storedState: StoredState
    /// The result to keep from now on; nil leaves what is there.
    public var result: TransferResult?
    /// The request to keep from now on; nil leaves what is there.
    public var request: TransferRequest? {
      get { if case .request(let request) = kept { request } else { nil } }
      set { kept = newValue.map { .request($0) } ?? .asItIs }
    }
    private var kept: Kept
    /// Whether rank and priority are as they were stored last, so that they need not be written.
    public var keepsPlace: Bool

    /// A change of these parts.
    public init(
      id: TransferID, storedState: StoredState, result: TransferResult? = nil,
      request: TransferRequest? = nil, keepsPlace: Bool = false
    ) {
      self.id = id
      self.storedState = storedState
      self.result = result
      kept = request.map { .request($0) } ?? .asItIs
      self.keepsPlace = keepsPlace
    }

    /// Apart, as few updates have one, and those of many are copied often.
    private enum Kept: Hashable {
      case asItIs
      indirect case request(TransferRequest)
    }
  }

  /// With its key, the ids that an `add` made: the same call after a crash finds them.
  public struct Batch: Sendable, Hashable {
    /// What the caller calls the batch.
    public var key: String
    /// What it added, in order.
    public var ids: [TransferID]

    /// A batch of that key.
    public init(key: String, ids: [TransferID]) {
      self.key = key
      self.ids = ids
    }
  }

  /// New records.
  public var added: [TransferRecord] = []
  /// How others stand from now on.
  public var updated: [Update] = []
  /// Those that leave the list.
  public var removed: [TransferID] = []
  /// Completed ones that are removed: they leave every `after` of the stored requests.
  public var satisfied: [TransferID] = []
  /// In order, their numbers following the last stored one.
  public var events: [StoredEvent] = []
  /// The call that added, where it had a key.
  public var batch: Batch?
  /// Processes that are about to run for members. Each is kept until its member has another one, or
  /// is removed.
  public var programs: [StoredProgram] = []
  /// Where bytes lie from now on. Each is kept until its member has another one, or none, or is
  /// removed.
  public var locations: [StoredLocation] = []

  /// Nothing.
  public init() {}

  /// Whether it changes nothing.
  public var isEmpty: Bool {
    added.isEmpty && updated.isEmpty && removed.isEmpty && satisfied.isEmpty && events.isEmpty
      && batch == nil && programs.isEmpty && locations.isEmpty
  }
}
