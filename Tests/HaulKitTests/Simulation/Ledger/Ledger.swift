import HaulCore

/// What is known of a simulated world, from what was stored and what its ports see, and everything
/// that is wrong with that. It shares no state and no rule with the manager that it watches.
struct Ledger: Sendable {
  struct Member: Sendable {
    let id: TransferID
    let request: TransferRequest
    let name: String
    let host: String?
    var storedState: StoredState
    var stage = Stage.queued
    /// The end that was told last, if it has not been queued again.
    var end: TransferResult.State?
    /// Where its file is, once it is completed.
    var path: String?
    /// What began for it since it was last at rest.
    var starts = 0
    /// Whether it was told to be queued again while it ran.
    var isCalledBack = false
    /// Whether a change may have stored that it stopped and has its slot again.
    var mayBeginAgain = false
    /// Whether it stopped for something in its way, and has not begun again.
    var isHeld = false
    /// Whether it may exceed the limits.
    var isForced = false
    /// Whether what it depends on let it run at some time since the world was last at rest.
    var wasReady = false
    /// Whether it waited for a slot when the world was last at rest, and has kept its place since.
    var waited = false
    /// Whether it has had another place or priority since then.
    var isRearranged = false
    /// Whether it was told to go before all others.
    var wasCalled = false

    init(_ record: TransferRecord) {
      (id, request, storedState) = (record.id, record.request, record.storedState)
      (name, host) = (request.name, request.host)
    }
  }

  /// A command that was sent.
  struct Order: Sendable {
    let number: Int
    let command: TransferMachine.Command
    /// Whom it is for; nil for all, or a whole group.
    let ids: Set<TransferID>?
    let group: String?
    /// How many changes were stored when it was sent.
    let sent: Int
  }

  struct Fetch: Sendable {
    let member: TransferID
    let host: String
  }

  var members: [TransferID: Member] = [:]
  /// Where each member ever was, with the number of changes that were stored by then.
  var history: [TransferID: [(change: Int, stage: Stage)]] = [:]
  var names: [TransferID: String] = [:]
  var changes = 0
  /// Every state change, as it was stored: the first has the number 1.
  var log: [StoredEvent] = []
  var orders: [Int: Order] = [:]
  var lastOrder = 0
  /// Commands that change the order of the list, and have not returned.
  var moves = 0
  /// Calls other than commands that have not returned.
  var calls: [Int: String] = [:]
  /// Completed members that were taken off the list: they stop nobody, after a restart either.
  var cleared: Set<TransferID> = []

  /// Connections that are in use.
  var fetches: [UInt64: Fetch] = [:]
  /// Those that have nothing more to give, and were not let go of yet.
  var idle: [UInt64: Fetch] = [:]
  var steps: Set<TransferID> = []
  var limits = Limits()
  /// Hosts that have refused something: they may be given less than the limits allow.
  var shyHosts: Set<String> = []
  /// Until when a host is left alone.
  var pauses: [String: Instant] = [:]
  /// When hosts last gave no answer, of those that have given none since.
  var silences: [String: Instant] = [:]
  /// Until when ends that the store has refused may not be stored yet.
  var troubledUntil = Instant()
  /// Whether the store of this process refused anything: one that had its slot then may not have
  /// begun.
  var hasRefused = false
  /// Whether something is in the way of runs that may make them wait: a full disk, a network that
  /// is away.
  var isHindered = false
  /// When the week is open; nil in a world that has no schedule.
  var hours: SimulatedHours?
  var isOpening = false
  var isClosing = false

  /// Whether nothing but what is forced may have started since the world was last at rest.
  var wasSuspended = false

  init(_ limits: Limits) { self.limits = limits }

  private(set) var trace: [String] = []
  private(set) var violations: [String] = []

  struct Limits: Sendable {
    var active = 1
    var activePerHost = 1
    var connectionsPerHost = 1
    var connections = 1
    /// As long as what ran before a limit was lowered runs on.
    var formerActive = 1
    var formerPerHost = 1
  }

  mutating func note(_ line: String) { trace.append(line) }

  mutating func violate(_ what: String) {
    trace.append("VIOLATION \(what)")
    violations.append(what)
  }

  func name(_ id: TransferID) -> String { names[id] ?? "\(id)" }

  /// In the order of the list.
  var listed: [Member] { members.values.sorted { $0.storedState.rank < $1.storedState.rank } }

  /// Whether what it depends on lets it run; nil where that cannot be told any more.
  func isReady(_ member: Member) -> Bool? {
    var isReady = true
    for case .transfer(let id) in member.request.after {
      guard let other = members[id] else {
        if !cleared.contains(id) { return nil }
        continue
      }
      switch member.request.whenDependencyFails {
      case .run: if other.end == nil { isReady = false }
      case .block, .skip: if other.end != .completed { isReady = false }
      }
    }
    return isReady
  }

  /// The process has died: nothing runs, and nobody waits for an answer.
  mutating func crashed(_ how: String) {
    note("crash: \(how)")
    (orders, calls, moves, steps) = ([:], [:], 0, [])
    (fetches, idle) = ([:], [:])
    (shyHosts, pauses, silences) = ([], [:], [:])
    (troubledUntil, hasRefused) = (Instant(), false)
    hours?.crashed()
    for id in members.keys {
      members[id]?.starts = 0
      members[id]?.isForced = false
      members[id]?.waited = false
      members[id]?.isHeld = false
      guard members[id]?.stage == .running else { continue }
      members[id]?.stage = .queued
      history[id]?.append((changes, .queued))
    }
  }

  mutating func noteReady() {
    for id in members.keys {
      if let member = members[id], isReady(member) != false { members[id]?.wasReady = true }
    }
  }
}

extension TransferRequest {
  /// What the world calls it.
  var name: String {
    switch work {
    case .download(let download):
      String(download.url.description.split(separator: "/").last ?? "")
    case .step(let step):
      if case .named(_, let input) = step.action { input ?? "" } else { "" }
    }
  }
}
