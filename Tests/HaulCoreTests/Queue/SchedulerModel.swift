import HaulCore

/// A naive scheduler with all commands, which checks everything each time.
struct SchedulerModel {
  enum Phase { case queued, active, paused }
  enum StartLevel { case none, startNow, forced }

  struct Member {
    let id: TransferID
    var host: String?
    var priority: TransferRequest.Priority
    var rank: Int64
    let sequence: Int
    var phase = Phase.queued
    var connections = 0
    var startLevel = StartLevel.none
    /// The order in which starts were requested.
    var startOrder: Int64 = 0
  }

  var limits: Scheduler.Limits
  var isSuspended = false
  var members: [Member] = []
  var caps: [String: LearnedCap] = [:]
  var pauses: [String: Instant] = [:]
  private var virtualTimes: [TransferRequest.Priority: Int] = [:]
  private var lastStartTag = 0
  private var lastSequence = 0
  private var lastStartOrder: Int64 = 0
  private var lastRank: Int64 = 0

  init(_ limits: Scheduler.Limits) { self.limits = limits }

  mutating func add(
    _ id: TransferID, host: String?, priority: TransferRequest.Priority, rank: Int64?
  ) {
    lastSequence += 1
    let rank = rank ?? lastRank + 1
    lastRank = max(lastRank, rank)
    members.append(
      Member(id: id, host: host, priority: priority, rank: rank, sequence: lastSequence))
  }

  mutating func move(_ index: Int, to rank: Int64) {
    members[index].rank = rank
    lastRank = max(lastRank, rank)
  }

  mutating func requestStart(_ index: Int, _ level: StartLevel) {
    guard members[index].phase != .active, members[index].startLevel != level else { return }
    lastStartOrder += 1
    members[index].startLevel = level
    members[index].startOrder = lastStartOrder
  }

  mutating func pause(_ index: Int) {
    if members[index].phase == .queued { members[index].startLevel = .none }
    members[index].phase = .paused
    members[index].connections = 0
  }

  // MARK: Slots and connections in use

  func active(_ host: String) -> [Member] {
    members.filter { $0.phase == .active && $0.host == host }
  }

  var activeCount: Int { members.count { $0.phase == .active } }

  /// Connections in use or reserved.
  func taken(_ host: String? = nil) -> Int {
    members.reduce(0) { sum, member in
      guard member.phase == .active, let own = member.host, host == nil || own == host else {
        return sum
      }
      return sum + max(member.connections, 1)
    }
  }

  func cap(_ host: String) -> Int { min(limits.connectionsPerHost, caps[host]?.count ?? .max) }

  func fits(_ member: Member) -> Bool {
    guard let host = member.host else { return true }
    let isFull = active(host).count >= limits.activePerHost && member.startLevel != .forced
    return pauses[host] == nil && !isFull && taken(host) < cap(host) && taken() < limits.connections
  }

  // MARK: Decisions

  mutating func next(at now: Instant) -> [TransferID] {
    wake(at: now)
    var started: [TransferID] = []
    while let index = pick() {
      members[index].phase = .active
      members[index].startLevel = .none
      started.append(members[index].id)
    }
    return started
  }

  /// Ends pauses and limits whose time is over.
  mutating func wake(at now: Instant) {
    pauses = pauses.filter { $0.value > now }
    caps = caps.filter { $0.value.until > now }
  }

  var wakeUpTime: Instant? { (pauses.values + caps.values.map(\.until)).min() }

  private mutating func pick() -> Int? {
    let waiting = members.indices.filter { members[$0].phase == .queued && fits(members[$0]) }
    if let forced = first(of: waiting, startLevel: .forced) { return forced }
    guard !isSuspended, activeCount < limits.active else { return nil }
    if let startNow = first(of: waiting, startLevel: .startNow) { return startNow }
    let turn = Set(waiting.map { members[$0].priority })
      .min { (mark($0), $1) < (mark($1), $0) }
    guard let turn else { return nil }
    lastStartTag = mark(turn)
    virtualTimes[turn] = lastStartTag + 16 / turn.weight
    return waiting.filter { members[$0].priority == turn }
      .min { orderKey(members[$0]) < orderKey(members[$1]) }
  }

  private func first(of waiting: [Int], startLevel level: StartLevel) -> Int? {
    waiting.filter { members[$0].startLevel == level }
      .min { members[$0].startOrder < members[$1].startOrder }
  }

  private func mark(_ priority: TransferRequest.Priority) -> Int {
    max(virtualTimes[priority] ?? 0, lastStartTag)
  }

  private func orderKey(_ member: Member) -> (Int64, Int) { (member.rank, member.sequence) }

  /// - Parameter now: the zero of the times in seconds.
  func reason(for member: Member, at now: Instant) -> WaitReason? {
    guard member.phase == .queued else { return nil }
    let isForced = member.startLevel == .forced
    if isSuspended, !isForced { return .suspended }
    if let host = member.host {
      if let until = pauses[host] { return .hostBackOff(until: (until - now) / .seconds(1)) }
      let isFull = active(host).count >= limits.activePerHost && !isForced
      if isFull { return .hostLimit }
      if taken(host) >= cap(host) {
        guard let learned = caps[host], learned.count < limits.connectionsPerHost else {
          return .hostLimit
        }
        return .hostRefusal(until: (learned.until - now) / .seconds(1))
      }
      if taken() >= limits.connections { return .slot }
    }
    return isForced || activeCount < limits.active ? nil : .slot
  }
}

/// A limit of connections that a host's refusals showed, for ten minutes after the last.
struct LearnedCap {
  var count: Int
  var until: Instant

  init(_ alive: Int, after former: LearnedCap?, at now: Instant) {
    count = max(1, min(alive, former?.count ?? alive))
    until = now + .seconds(600)
  }
}

extension Scheduler {
  /// Times are seconds from now.
  func reason(for id: TransferID, at now: Instant) -> WaitReason? {
    reason(for: id, at: now, wallSeconds: 0)
  }
}

extension Scheduler.Limits {
  /// Small limits, so that each of them is reached.
  init(random generator: inout SplitMix64) {
    self.init()
    active = Int.random(in: 1...6, using: &generator)
    activePerHost = Int.random(in: 1...3, using: &generator)
    connectionsPerTransfer = Int.random(in: 1...3, using: &generator)
    connectionsPerHost = Int.random(in: 1...5, using: &generator)
    connections = Int.random(in: 1...9, using: &generator)
  }
}
