import HaulCore

/// A model of a simulated world, from stored changes and from what its ports see, with all
/// violations. It shares no state and no rule with the manager.
struct Ledger: Sendable {
  struct Member: Sendable {
    let id: TransferID
    let request: TransferRequest
    let name: String
    let host: String?
    var storedState: StoredState
    var state = ModelState.queued
    /// The last reported end, unless it was requeued.
    var end: TransferResult.State?
    /// The path of its file, once it is completed.
    var path: String?
    /// How often it started since it was last at rest.
    var starts = 0
    /// Whether it was ordered to requeue while it ran.
    var isRequeueRequested = false
    /// Whether a change may have stored that it stopped and started again.
    var mayBeginAgain = false
    /// Whether it stopped because of something such as a full disk, and has not started again.
    var hasWaitReason = false
    /// Whether it may exceed the limits.
    var isForced = false
    /// Whether its dependencies allowed it to run at some time since the last rest.
    var wasReady = false
    /// Whether it waited for a slot at the last rest, and has kept its position since.
    var waited = false
    /// Whether its position or priority has changed since then.
    var isRearranged = false
    /// Whether its start time does not count: it was ordered to start, or has ended.
    var startsAnytime = false
    /// Whether it has begun or ended: then its start time never counts again.
    var hasBegun = false
    /// Whether it was ordered to start now.
    var isStartRequested = false
    /// How often it was ordered to forget what it has.
    var discards = 0
    /// Whether such a command has returned, and it has not started since.
    var goesFirst = false

    init(_ record: TransferRecord) {
      (id, request, storedState) = (record.id, record.request, record.storedState)
      (name, host) = (request.name, request.host)
    }
  }

  /// A command that was sent.
  struct Order: Sendable {
    let number: Int
    let command: TransferMachine.Command
    /// The members that it is for; nil for all, or for a whole group.
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
  /// The stages of each member, with the number of changes stored by then.
  var history: [TransferID: [(change: Int, state: ModelState)]] = [:]
  var names: [TransferID: String] = [:]
  var changes = 0
  /// Every state change, as it was stored, beginning with number 1.
  var log: [StoredEvent] = []
  var orders: [Int: Order] = [:]
  var lastOrder = 0
  /// The number of commands that change the order of the list and have not returned.
  var moves = 0
  /// Calls other than commands that have not returned.
  var calls: [Int: String] = [:]
  /// Completed members that were removed: they block none, also after a restart.
  var cleared: Set<TransferID> = []

  /// Connections in use.
  var fetches: [UInt64: Fetch] = [:]
  /// Connections that have sent everything and were not yet released.
  var idle: [UInt64: Fetch] = [:]
  var steps: Set<TransferID> = []
  var limits = Limits()
  /// Hosts that have refused something: they may be used less than the limits allow.
  var hostsThatRefused: Set<String> = []
  /// The ends of pauses of hosts.
  var pauses: [String: Instant] = [:]
  /// The same of earlier processes as far as they were stored, in seconds since 1970.
  var storedPauses: [String: Double] = [:]
  /// The last time without an answer, for hosts that have not answered since.
  var silentSince: [String: Instant] = [:]
  /// The time until which refused ends may not be stored yet.
  var troubledUntil = Instant()
  /// Whether the store of this process has refused a change: a member that had its slot then may
  /// not have started.
  var hasRefused = false
  /// Whether something may make runs wait: a full disk, or a missing network.
  var causesWaits = false
  /// The schedule; nil in a world without one.
  var schedule: SimulatedSchedule?
  var isOpening = false
  var isClosing = false

  /// Whether only forced members may have started since the last rest.
  var wasSuspended = false

  init(_ limits: Limits) { self.limits = limits }

  private(set) var trace: [String] = []
  private(set) var violations: [String] = []

  struct Limits: Sendable {
    var active = 1
    var activePerHost = 1
    var connectionsPerHost = 1
    var connections = 1
    /// Until the transfers that ran before a limit was lowered have ended.
    var formerActive = 1
    var formerPerHost = 1
  }

  mutating func note(_ line: String) { trace.append(line) }

  mutating func violate(_ what: String) {
    trace.append("VIOLATION \(what)")
    violations.append(what)
  }

  func name(_ id: TransferID) -> String { names[id] ?? "\(id)" }

  /// In list order.
  var listed: [Member] { members.values.sorted { $0.storedState.rank < $1.storedState.rank } }

  /// Whether its dependencies allow it to run; nil if that is no longer known.
  func isReady(_ member: Member) -> Bool? {
    var isReady = true
    for case .transfer(let id) in member.request.dependencies {
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

  /// The process has died: nothing runs, and no call waits.
  mutating func crashed(_ how: String) {
    note("crash: \(how)")
    (orders, calls, moves, steps) = ([:], [:], 0, [])
    (fetches, idle) = ([:], [:])
    (hostsThatRefused, pauses, silentSince) = ([], [:], [:])
    (troubledUntil, hasRefused) = (Instant(), false)
    schedule?.crashed()
    storedPauses = [:]
    for member in members.values {
      guard let host = member.host, let until = member.storedState.hostPause else { continue }
      storedPauses[host] = max(storedPauses[host] ?? until, until)
    }
    for id in members.keys {
      members[id]?.starts = 0
      // A start that was acknowledged, or was stored before that, holds.
      let isForced = members[id]?.storedState.startRequest?.isForced ?? false
      members[id]?.isForced = isForced
      members[id]?.waited = false
      members[id]?.hasWaitReason = false
      guard members[id]?.state == .running else { continue }
      members[id]?.state = .queued
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
  /// The name in the world.
  var name: String {
    switch work {
    case .download(let download):
      String(download.url.description.split(separator: "/").last ?? "")
    case .upload(let upload):
      String(upload.url.description.split(separator: "/").last ?? "")
    case .step(let step):
      if case .named(_, let input) = step.action { input ?? "" } else { "" }
    }
  }
}
