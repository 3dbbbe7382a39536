import HaulCore
import Testing

/// A naive scheduler, which checks everything each time.
private struct NaiveScheduler {
  enum Phase { case queued, active, paused }
  struct Member {
    let id: TransferID
    let host: String
    var phase = Phase.queued
    var connections = 0
  }

  var limits: Scheduler.Limits
  /// In the order of adding.
  var members: [Member] = []
  var caps: [String: LearnedCap] = [:]
  var pauses: [String: Instant] = [:]

  func active(_ host: String? = nil) -> [Member] {
    members.filter { $0.phase == .active && (host == nil || $0.host == host) }
  }

  /// Connections in use or reserved.
  func taken(_ host: String? = nil) -> Int {
    active(host).reduce(0) { $0 + max($1.connections, 1) }
  }

  func cap(_ host: String) -> Int { min(limits.connectionsPerHost, caps[host]?.count ?? .max) }

  func fits(_ member: Member) -> Bool {
    member.phase == .queued && pauses[member.host] == nil && active().count < limits.active
      && taken() < limits.connections && active(member.host).count < limits.activePerHost
      && taken(member.host) < cap(member.host)
  }

  mutating func next(at now: Instant) -> [TransferID] {
    pauses = pauses.filter { $0.value > now }
    caps = caps.filter { $0.value.until > now }
    var started: [TransferID] = []
    for index in members.indices where fits(members[index]) {
      members[index].phase = .active
      started.append(members[index].id)
    }
    return started
  }
}

@Suite struct SchedulerRandomTests {
  @Test func `Random walks agree with the naive scheduler`() async {
    for seed in UInt64(1)...60 {
      await Task.yield()
      guard Walk(seed: seed).run(steps: 700) else {
        Issue.record("the walk with seed \(seed) went astray")
        return
      }
    }
  }

  @Test func `A long queue keeps its order after removals from its middle`() {
    var generator = SplitMix64(seed: 3)
    let ids = (0..<5000).map { _ in TransferID(using: &generator) }
    var queue = Scheduler()
    for id in ids { queue.add(id, host: "a") }
    for (index, id) in ids.enumerated() where !index.isMultiple(of: 7) { queue.finished(id) }
    var order: [TransferID] = []
    while case let started = queue.next(at: Instant()), !started.isEmpty {
      order += started
      for id in started { queue.finished(id) }
    }
    #expect(order == ids.enumerated().filter { $0.offset.isMultiple(of: 7) }.map(\.element))
  }
}

/// A seeded walk of both schedulers, compared.
private struct Walk {
  private var generator: SplitMix64
  private var queue: Scheduler
  private var model: NaiveScheduler
  private var now = Instant()

  init(seed: UInt64) {
    generator = SplitMix64(seed: seed)
    let limits = Scheduler.Limits(random: &generator)
    queue = Scheduler(limits)
    model = NaiveScheduler(limits: limits)
  }

  /// Whether both agreed at every step, and every transfer started in the end.
  func run(steps: Int) -> Bool {
    var walk = self
    for _ in 0..<steps where !walk.step() { return false }
    return walk.drain()
  }

  private mutating func pick() -> Int? { model.members.indices.randomElement(using: &generator) }

  private mutating func step() -> Bool {
    let host = "h\(generator.next() % 4)"
    switch generator.next() % 16 {
    case 0...3:
      let id = TransferID(using: &generator)
      queue.add(id, host: host)
      model.members.append(.init(id: id, host: host))
    case 4...6: return end()
    case 7, 8: return pause()
    case 9: resume()
    case 10...12: return connect()
    case 13: return disconnect()
    case 14: changeHost(host)
    default: changeLimits()
    }
    // Sometimes long enough for a host's limit to be forgotten.
    let isLong = generator.next().isMultiple(of: 40)
    now = now + .milliseconds(Int64(generator.next() % (isLong ? 600_000 : 300)))
    return startsAgree() && countsAgree()
  }

  private mutating func end() -> Bool {
    guard let index = pick() else { return true }
    let member = model.members.remove(at: index)
    let first = queue.finished(member.id)
    return first == (member.phase == .active) && !queue.finished(member.id) && countsAgree()
  }

  private mutating func pause() -> Bool {
    guard let index = pick() else { return true }
    let wasActive = model.members[index].phase == .active
    model.members[index].phase = .paused
    model.members[index].connections = 0
    let id = model.members[index].id
    return queue.release(id) == wasActive && !queue.release(id) && countsAgree()
  }

  private mutating func resume() {
    guard let index = pick() else { return }
    queue.add(model.members[index].id, host: model.members[index].host)
    if model.members[index].phase == .paused { model.members[index].phase = .queued }
  }

  /// A connection may be refused for fairness; a granted one must have been free.
  private mutating func connect() -> Bool {
    guard let index = pick() else { return true }
    let member = model.members[index]
    let fits =
      member.phase == .active && model.pauses[member.host] == nil
      && member.connections < model.limits.connectionsPerTransfer
    let isFirst = member.connections == 0
    let inHost = model.active(member.host).reduce(0) { $0 + $1.connections }
    let inAll = model.active().reduce(0) { $0 + $1.connections }
    let hasRoom =
      isFirst
      ? inHost < model.cap(member.host) && inAll < model.limits.connections
      : model.taken(member.host) < model.cap(member.host)
        && model.taken() < model.limits.connections
    let granted = queue.grantConnection(for: member.id)
    if granted { model.members[index].connections += 1 }
    if isFirst { return granted == (fits && hasRoom) }
    return !granted || (fits && hasRoom)
  }

  private mutating func disconnect() -> Bool {
    guard let index = pick() else { return true }
    let had = model.members[index].connections > 0
    if had { model.members[index].connections -= 1 }
    return queue.releaseConnection(for: model.members[index].id) == had && countsAgree()
  }

  private mutating func changeHost(_ host: String) {
    if generator.next().isMultiple(of: 4) {
      let alive = Int.random(in: 0...4, using: &generator)
      queue.lowerLimit(host, to: alive, at: now)
      model.caps[host] = LearnedCap(alive, after: model.caps[host], at: now)
    } else {
      let until = now + .milliseconds(Int64(generator.next() % 2000))
      queue.pauseHost(host, until: until)
      model.pauses[host] = max(model.pauses[host] ?? until, until)
    }
  }

  private mutating func changeLimits() {
    model.limits = Scheduler.Limits(random: &generator)
    queue.setLimits(model.limits)
  }

  private mutating func startsAgree() -> Bool {
    guard queue.next(at: now) == model.next(at: now),
      queue.nextWakeUp() == (model.pauses.values + model.caps.values.map(\.until)).min()
    else { return false }
    return model.members.allSatisfy { reasonAgrees(for: $0) }
  }

  private func reasonAgrees(for member: NaiveScheduler.Member) -> Bool {
    let reason = queue.reason(for: member.id, at: now)
    guard member.phase == .queued else { return reason == nil }
    if let until = model.pauses[member.host] {
      return reason == .hostBackOff(until: (until - now) / .seconds(1))
    }
    if model.active(member.host).count >= model.limits.activePerHost {
      return reason == .hostLimit
    }
    guard model.taken(member.host) >= model.cap(member.host) else { return reason == .slot }
    guard let learned = model.caps[member.host], learned.count < model.limits.connectionsPerHost
    else { return reason == .hostLimit }
    return reason == .hostRefusal(until: (learned.until - now) / .seconds(1))
  }

  private func countsAgree() -> Bool {
    queue.active == model.active().count
      && queue.connections == model.members.reduce(0) { $0 + $1.connections }
      && model.members.allSatisfy { queue.connections(of: $0.id) == $0.connections }
  }

  /// Lets everything end: each transfer must start, in the model's order, and no slot may be lost.
  private mutating func drain() -> Bool {
    for index in model.members.indices where model.members[index].phase == .paused {
      queue.add(model.members[index].id, host: model.members[index].host)
      model.members[index].phase = .queued
    }
    now = now + .seconds(3600)
    while !model.members.isEmpty {
      guard startsAgree() else { return false }
      let running = model.active()
      guard !running.isEmpty else { return false }
      for member in running { queue.finished(member.id) }
      model.members.removeAll { $0.phase == .active }
    }
    return countsAgree() && queue.next(at: now).isEmpty
  }
}
