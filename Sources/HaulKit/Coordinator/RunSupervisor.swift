package import HaulCore

/// Everything that is known of the transfers that are alive, one record each: what runs, where its
/// bytes go, and what is kept for the next run.
package struct RunSupervisor {
  /// One run, from the grant of its slot until its end is stored. A class, as its end is large.
  package final class Run {
    package let context: RunContext
    /// Nil while it goes on.
    package var end: RunEnd?
    /// Whether it is a step that did not end when it was told to: how it ends is of no interest
    /// then.
    package var isCutShort = false
    /// What is to be done, on a thread for files, once its end is stored.
    package var onceStored: (@Sendable () -> Void)?

    package init(context: RunContext) { self.context = context }
  }

  package struct Record {
    package var run: Run?
    /// Nil before its first run.
    package var identity: TransferIdentity?
    /// The name that the server told, where it is the one to use.
    package var serverName: FileName?
    /// Where its bytes lie while it is to go on with them.
    package var location: FileLocation?
    package var isLocationStored = false
    /// Where the bytes of a transfer to `.stream` go.
    package var stream: StreamBuffer?
    /// Whether the reader of the stream was given it.
    package var isStreamRead = false

    fileprivate var isEmpty: Bool {
      run == nil && serverName == nil && location == nil && !isLocationStored && stream == nil
    }

    /// The end of its run is stored: nothing runs for it any more.
    fileprivate mutating func settle() {
      // The reader holds its stream from now on; one that comes late still finds it.
      if isStreamRead, case .finished? = run?.end { stream = nil }
      isLocationStored = location != nil
      run = nil
    }
  }

  private var records = IDMap<Record>()
  /// Those whose runs have ended, and whose ends are not stored yet, in order.
  package private(set) var ended: [TransferID] = []

  package init() {}

  /// Those that run, in order.
  package var running: [TransferID] { records.ids.filter { isRunning($0) }.sorted() }

  /// Whether something runs for it, or its end is not stored yet.
  package func isRunning(_ id: TransferID) -> Bool { run(of: id) != nil }

  func run(of id: TransferID) -> Run? { records.place(of: id).flatMap { records[$0].run } }

  func identity(of id: TransferID) -> TransferIdentity? {
    records.place(of: id).flatMap { records[$0].identity }
  }

  func stream(of id: TransferID) -> StreamBuffer? {
    records.place(of: id).flatMap { records[$0].stream }
  }

  /// Whether the store is to know where its bytes lie, or that they lie nowhere: after a restart
  /// its file system may be gone.
  func storesLocation(of id: TransferID) -> Bool {
    records.place(of: id).map { records[$0].location != nil || records[$0].isLocationStored }
      ?? false
  }

  /// Whether what runs for it has left its slot and wants one again: nothing new begins with that.
  package func isWaitingForSlot(_ id: TransferID) -> Bool {
    run(of: id).map { $0.end == nil } ?? false
  }

  /// Its record, a copy to read; an empty one is forgotten.
  package subscript(id: TransferID) -> Record {
    get { records[id] ?? Record() }
    _modify {
      let place = records.place(of: id) ?? records.set(id, to: Record())
      yield &records[place]
      if records[place].isEmpty { records.remove(id) }
    }
  }

  /// Sends an order to what runs.
  package func send(_ order: RunOrder, to id: TransferID) { run(of: id)?.context.send(order) }

  /// What runs for it has ended; its record stays until that is stored.
  /// - Returns: whether it is of interest: not after `forget`.
  package mutating func ended(_ id: TransferID, _ end: RunEnd) -> Bool {
    guard let run = run(of: id), !run.isCutShort else { return false }
    run.end = end
    if end.isOver { self[id].location = nil }
    ended.append(id)
    return true
  }

  /// The ends of these are stored: nothing runs for them any more.
  package mutating func settle(_ ids: some Collection<TransferID>) {
    // Mostly that is all of them; but some may have been forgotten while that was stored, or have
    // come.
    if ended.elementsEqual(ids) {
      ended = []
    } else {
      let stored = Set(ids)
      ended.removeAll { stored.contains($0) }
    }
    for id in ids { self[id].settle() }
  }

  /// Whatever runs for it is left to itself.
  package mutating func forget(_ id: TransferID) {
    ended.removeAll { $0 == id }
    self[id].run = nil
  }

  /// It is not in the list any more.
  package mutating func remove(_ id: TransferID) { records.remove(id) }
}
