import HaulCore

/// Everything that is known of the transfers that are alive, one record each: what runs, where its bytes go, and what is kept for
/// the next run.
struct RunSupervisor: Sendable {
  /// One run, from the grant of its slot until its end is stored.
  struct Run: Sendable {
    let context: RunContext
    /// Nil while it goes on.
    var end: RunEnd?
    /// Whether it is a step that did not end when it was told to: how it ends is of no interest then.
    var isCutShort = false
    /// What is to be done, on a thread for files, once its end is stored.
    var onceStored: (@Sendable () -> Void)?
  }

  struct Record: Sendable {
    var run: Run?
    /// What it transfers; nil for a step, and before its first run.
    var url: ResourceURL?
    /// The name that the server told, where it is the one to use.
    var serverName: FileName?
    /// Where its bytes lie while it is to go on with them.
    var location: TargetPlace?
    var isLocationStored = false
    /// Where the bytes of a transfer to `.stream` go.
    var stream: StreamBuffer?
    /// Whether the reader of the stream was given it.
    var isStreamRead = false

    fileprivate var isEmpty: Bool {
      run == nil && serverName == nil && location == nil && !isLocationStored && stream == nil
    }
  }

  private var records: [TransferID: Record] = [:]
  /// Those whose runs have ended, and whose ends are not stored yet, in order.
  private(set) var ended: [TransferID] = []

  /// Those that run, in order.
  var running: [TransferID] { records.keys.filter { isRunning($0) }.sorted() }

  /// Whether something runs for it, or its end is not stored yet.
  func isRunning(_ id: TransferID) -> Bool { records[id]?.run != nil }

  /// Whether what runs for it has left its slot and wants one again: nothing new begins with that.
  func isWaitingForSlot(_ id: TransferID) -> Bool {
    records[id]?.run.map { $0.end == nil } ?? false
  }

  /// Its record; an empty one is forgotten.
  subscript(id: TransferID) -> Record {
    get { records[id] ?? Record() }
    set { records[id] = newValue.isEmpty ? nil : newValue }
  }

  /// Sends an order to what runs.
  func send(_ order: RunOrder, to id: TransferID) { records[id]?.run?.context.send(order) }

  /// What runs for it has ended; its record stays until that is stored.
  /// - Returns: whether it is of interest: not after `forget`.
  mutating func ended(_ id: TransferID, _ end: RunEnd) -> Bool {
    guard let run = records[id]?.run, !run.isCutShort else { return false }
    records[id]?.run?.end = end
    if end.isOver { records[id]?.location = nil }
    ended.append(id)
    return true
  }

  /// The ends of these are stored: nothing runs for them any more.
  mutating func settle(_ ids: some Collection<TransferID>) {
    ended.removeAll { ids.contains($0) }
    for id in ids {
      // The reader holds its stream from now on; one that comes late still finds it.
      if case .finished? = records[id]?.run?.end, records[id]?.isStreamRead == true {
        records[id]?.stream = nil
      }
      self[id].isLocationStored = self[id].location != nil
      self[id].run = nil
    }
  }

  /// Whatever runs for it is left to itself.
  mutating func forget(_ id: TransferID) {
    ended.removeAll { $0 == id }
    self[id].run = nil
  }

  /// It is not in the list any more.
  mutating func remove(_ id: TransferID) { records[id] = nil }
}
