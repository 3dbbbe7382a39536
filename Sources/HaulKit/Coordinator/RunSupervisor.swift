package import HaulCore

/// One record for each live transfer: its run, where its bytes go, and what is kept for its next
/// run.
package struct RunSupervisor {
  /// One run, from its slot until its end is stored. A class, because its end is large.
  package final class Run {
    package let context: RunContext
    /// Nil while it runs.
    package var end: RunEnd?
    /// When its next attempt is due, while it has no slot. The store has this time too, unless it
    /// refused to take it.
    package var retryAt: Instant?
    /// Whether a start was requested after its end.
    package var isStartedAgain = false
    /// Whether it is of a program that can be cancelled, but not stopped and run again.
    package var cannotPause = false
    /// Whether it is a step that did not stop when asked to; its end is then ignored.
    package var isForceStopped = false
    /// A cancelled upload of which the store has parts.
    package var uploadLeft: UploadRequest?
    /// To call on a file thread once its end is stored.
    package var afterStored: (@Sendable () -> Void)?

    package init(context: RunContext) { self.context = context }
  }

  package struct Record {
    package var run: Run?
    /// Nil before its first run.
    package var identity: TransferIdentity?
    /// The name that the server sent, if that name is used.
    package var serverName: FileName?
    /// Where its bytes are, while it may resume from them.
    package var location: FileLocation?
    package var isLocationStored = false
    /// Where the bytes of a transfer to `.stream` go.
    package var stream: StreamBuffer?
    /// Whether its stream has been given to a reader.
    package var isStreamRead = false

    fileprivate var isEmpty: Bool {
      run == nil && serverName == nil && location == nil && !isLocationStored && stream == nil
    }

    /// The end of its run is stored: it no longer runs.
    fileprivate mutating func endStored() {
      // A reader keeps its own stream alive; a stream without a reader stays here for one.
      if isStreamRead, case .finished? = run?.end { stream = nil }
      isLocationStored = location != nil
      run = nil
    }
  }

  private var records = IDDictionary<Record>()
  /// Transfers whose runs have ended and whose ends are not stored yet, in order.
  package private(set) var ended: [TransferID] = []

  package init() {}

  /// Running transfers, in order.
  package var running: [TransferID] { records.ids.filter { isRunning($0) }.sorted() }

  /// Whether it runs, or its end is not stored yet.
  package func isRunning(_ id: TransferID) -> Bool { run(of: id) != nil }

  func run(of id: TransferID) -> Run? { records.index(of: id).flatMap { records[$0].run } }

  func identity(of id: TransferID) -> TransferIdentity? {
    records.index(of: id).flatMap { records[$0].identity }
  }

  func stream(of id: TransferID) -> StreamBuffer? {
    records.index(of: id).flatMap { records[$0].stream }
  }

  /// Whether the store needs its file location, or the fact that it has none: after a restart its
  /// file system may be missing.
  func storesLocation(of id: TransferID) -> Bool {
    records.index(of: id).map { records[$0].location != nil || records[$0].isLocationStored }
      ?? false
  }

  /// Whether its run has left its slot and waits for one again; nothing else starts for it
  /// meanwhile.
  package func isWaitingForSlot(_ id: TransferID) -> Bool {
    run(of: id).map { $0.end == nil } ?? false
  }

  /// A copy of its record; assigning an empty record removes it.
  package subscript(id: TransferID) -> Record {
    get { records[id] ?? Record() }
    _modify {
      let index = records.index(of: id) ?? records.set(id, to: Record())
      yield &records[index]
      if records[index].isEmpty { records.remove(id) }
    }
  }

  package func send(_ order: RunOrder, to id: TransferID) { run(of: id)?.context.send(order) }

  /// Notes that its run has ended; the record of the run stays until the end is stored.
  /// - Returns: whether the end counts; false after `forget`.
  package mutating func ended(_ id: TransferID, _ end: RunEnd) -> Bool {
    guard let run = run(of: id), !run.isForceStopped else { return false }
    run.end = end
    if end.isFinal, !end.hasFailed { self[id].location = nil }
    ended.append(id)
    return true
  }

  /// The ends of these runs are stored: they no longer run.
  package mutating func endsStored(_ ids: some Collection<TransferID>) {
    // Usually these are all of them; but some may have been forgotten or added meanwhile.
    if ended.elementsEqual(ids) {
      ended = []
    } else {
      let stored = Set(ids)
      ended.removeAll { stored.contains($0) }
    }
    for id in ids { self[id].endStored() }
  }

  /// Its run is no longer supervised.
  package mutating func forget(_ id: TransferID) {
    ended.removeAll { $0 == id }
    self[id].run = nil
  }

  /// It is no longer in the list.
  package mutating func remove(_ id: TransferID) { records.remove(id) }
}
