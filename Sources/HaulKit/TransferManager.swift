public import HaulCore

/// Runs transfers: the one mutable thing of the library.
///
/// Each command is stored before it returns, and, where something must stop first, carried out: when `pause` returns, the
/// connections are closed and the bytes are claimed. Call `shutdown` before you let go of it: its connections and threads end then.
public actor TransferManager {
  let engine: Engine
  let store: any Store
  /// What of the stored list was damaged when it was opened, and where it is now; nil in the ordinary case.
  public nonisolated let damage: TransferError?
  private let onShutdown: @Sendable () async -> Void
  var queue = QueueMachine()
  /// What runs for a member at this moment.
  var runs: [TransferID: MemberRun] = [:]
  /// Ends of runs that are not stored yet.
  var endings: [(id: TransferID, end: RunEnd)] = []
  /// Those of them that are being stored at this moment, and whether each was stopped to be queued again.
  var unstored: [TransferID: Bool] = [:]
  var streams: [TransferID: StreamPlace] = [:]
  /// Names that servers told, where they are the ones to use.
  var serverNames: [TransferID: FileName] = [:]
  /// Where the bytes lie of those that ran and are to go on.
  var places: [TransferID: TargetPlace] = [:]
  var storedPlaces: Set<TransferID> = []
  /// Who waits for something in the way to be gone.
  var obstacles = ObstacleWatch()
  var looking: (instant: Instant, task: Task<Void, Never>)?
  /// Whether the time of the week lets anything start, and what it had stopped, until that is stored and told.
  var times: TimetableWatch
  var timing: (instant: Instant, task: Task<Void, Never>)?
  var leaving: Set<TransferID> = []
  var toldClosed: Set<TransferID> = []
  var steps: [String: StepClosure] = [:]
  /// Keys of additions that are under way.
  var adding: Set<String> = []
  let turns = Turns()
  var waits = Waits()
  var wakeUp: (instant: Instant, task: Task<Void, Never>)?
  /// Wait for the next attempts of those that have no run.
  var postponed: [TransferID: Task<Void, Never>] = [:]
  /// Stores ends again that could not be stored.
  var storingAgain: Task<Void, Never>?
  private(set) var isShutDown = false
  /// Whether something did not stop in time, and is left to itself.
  var hasLeftRuns = false
  /// What the store refused, while what it has could not be read since.
  var refusedDecision: QueueDecision?
  /// Members that one change of a command stores at most.
  let portion: Int
  /// Whether nothing may start: a command on many has been carried out on some of them.
  var holdsStarts = false

  /// What a decision on so many needs is a few megabytes, and to store them costs much more than to begin a change.
  package static let portion = 8192

  /// Where the bytes of a transfer to `.stream` go.
  struct StreamPlace {
    let buffer: StreamBuffer
    /// Whether its reader was given the bytes.
    var isRead = false
  }

  /// A manager whose list lives in memory.
  /// - Throws: `tls` when a file of certificates or keys cannot be read or holds none; `internal` for a timetable as
  ///   `setTimetable` does.
  public init(_ configuration: Configuration = Configuration()) throws(TransferError) {
    self.init(try SystemPorts(configuration), store: MemoryStore())
  }

  init(_ ports: SystemPorts, store: any Store, damage: TransferError? = nil) {
    engine = ports.engine
    times = TimetableWatch(ports.engine.hours)
    self.store = store
    self.damage = damage
    portion = Self.portion
    onShutdown = ports.shutdown
  }

  /// A manager over other ports.
  package init(
    engine: Engine, store: any Store = MemoryStore(), portion: Int = TransferManager.portion
  ) {
    self.engine = engine
    times = TimetableWatch(engine.hours)
    self.store = store
    self.portion = max(portion, 1)
    damage = nil
    onShutdown = {}
  }

  deinit {
    wakeUp?.task.cancel()
    looking?.task.cancel()
    timing?.task.cancel()
    for task in postponed.values { task.cancel() }
    engine.hub.close()
  }

  /// Stops what runs, closes every connection, and ends every event stream. A second call does nothing.
  ///
  /// What ran is queued again when its store is opened the next time, and what was paused is paused. A step that does not
  /// pause has its task cancelled after four seconds. What has not stopped after one more second is left to itself: a step counts as
  /// interrupted, a download goes on from its last checkpoint.
  public func shutdown() async {
    guard !isShutDown else { return }
    isShutDown = true
    wakeUp?.task.cancel()
    looking?.task.cancel()
    timing?.task.cancel()
    storingAgain?.cancel()
    for task in postponed.values { task.cancel() }
    for id in runs.keys.sorted() { runs[id]?.context.send(.pause) }
    await stopRuns()
    await wakeUp?.task.value
    await looking?.task.value
    await timing?.task.value
    await storingAgain?.value
    for task in postponed.values { await task.value }
    await engine.heartbeat.stop()
    await turns.run {}
    await store.close()
    // Threads that do not come back are not waited for.
    if hasLeftRuns { Task { [onShutdown] in await onShutdown() } } else { await onShutdown() }
    steps = [:]
    waits.endAll()
    engine.hub.close()
  }

  /// The bytes of a transfer to `.stream`, for one reader; they begin to come when the transfer starts, and wait for
  /// the reader when it is slow. Letting go of them before their end cancels the transfer.
  /// - Throws: `internal` when the transfer is unknown, has another destination, or is being read.
  public func bytes(of transfer: Transfer) throws(TransferError) -> TransferBytes {
    guard let place = streams[transfer.id] else {
      throw TransferError(.internal, "that transfer has no stream to read")
    }
    guard !place.isRead else { throw TransferError(.internal, "the stream has a reader") }
    streams[transfer.id]?.isRead = true
    return TransferBytes(place.buffer)
  }
}
