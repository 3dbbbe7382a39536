import HaulCore
import Testing

@Suite struct SchedulerModelTests {
  @Test func `Random commands start the same transfers as the model, in order and within limits`()
    async
  {
    for seed in UInt64(1)...80 {
      await Task.yield()
      var walk = SchedulerModelRandomSequence(seed: seed)
      if let fault = walk.run(steps: 500) {
        Issue.record("seed \(seed): \(fault)")
        return
      }
    }
  }
}

/// A seeded walk of the scheduler and its model, compared; returns differences as text.
private struct SchedulerModelRandomSequence {
  private var generator: SplitMix64
  private var queue: Scheduler
  private var model: SchedulerModel
  private var now = Instant()

  init(seed: UInt64) {
    generator = SplitMix64(seed: seed)
    let limits = Scheduler.Limits(random: &generator)
    queue = Scheduler(limits)
    model = SchedulerModel(limits)
  }

  mutating func run(steps: Int) -> String? {
    for step in 0..<steps {
      let action = action()
      // Sometimes long enough for a host's limit to be forgotten.
      let isLong = generator.next().isMultiple(of: 40)
      now = now + .milliseconds(Int64(generator.next() % (isLong ? 600_000 : 300)))
      if let fault = agrees() { return "step \(step), after \(action): \(fault)" }
    }
    return drain()
  }

  private mutating func host() -> String? {
    let number = generator.next() % 5
    return number == 4 ? nil : "h\(number)"
  }

  private mutating func rank() -> Int64 { Int64.random(in: -20...20, using: &generator) }

  private mutating func priority() -> TransferRequest.Priority {
    TransferRequest.Priority.allCases.randomElement(using: &generator) ?? .default
  }

  private mutating func action() -> String {
    let command = generator.next() % 24
    if command < 5 { return add() }
    if command == 5 { return changeAll() }
    guard let index = model.members.indices.randomElement(using: &generator) else { return "none" }
    switch command {
    case 6...9: return end(index)
    case 10, 11: return pause(index)
    case 12, 13: return resume(index)
    case 14...16: return connect(index)
    case 17: return disconnect(index)
    case 18: return changeHost(model.members[index].host)
    default: return order(index, command)
    }
  }

  private mutating func add() -> String {
    let id = TransferID(using: &generator)
    let (host, priority) = (host(), priority())
    let rank = generator.next().isMultiple(of: 2) ? nil : rank()
    queue.add(id, host: host, priority: priority, rank: rank)
    model.add(id, host: host, priority: priority, rank: rank)
    return "add"
  }

  private mutating func changeAll() -> String {
    if generator.next().isMultiple(of: 2) {
      model.limits = Scheduler.Limits(random: &generator)
      queue.setLimits(model.limits)
      return "limits"
    }
    model.isSuspended.toggle()
    queue.isSuspended = model.isSuspended
    return "suspended: \(model.isSuspended)"
  }

  private mutating func end(_ index: Int) -> String {
    let member = model.members.remove(at: index)
    let heldSlot = queue.finished(member.id)
    return heldSlot == (member.phase == .active) ? "end" : "end with the wrong answer"
  }

  private mutating func pause(_ index: Int) -> String {
    queue.release(model.members[index].id)
    model.pause(index)
    return "pause"
  }

  /// Resumes it, perhaps with another host.
  private mutating func resume(_ index: Int) -> String {
    let host = generator.next().isMultiple(of: 2) ? host() : model.members[index].host
    queue.add(model.members[index].id, host: host, priority: priority(), rank: rank())
    guard model.members[index].phase == .paused else { return "resume of no paused one" }
    model.members[index].phase = .queued
    model.members[index].host = host
    return "resume"
  }

  private mutating func connect(_ index: Int) -> String {
    if queue.grantConnection(for: model.members[index].id) { model.members[index].connections += 1 }
    return "connect"
  }

  private mutating func disconnect(_ index: Int) -> String {
    if queue.releaseConnection(for: model.members[index].id) {
      model.members[index].connections -= 1
    }
    return "disconnect"
  }

  private mutating func changeHost(_ host: String?) -> String {
    guard let host else { return "none" }
    if generator.next().isMultiple(of: 4) {
      let alive = Int.random(in: 0...4, using: &generator)
      queue.lowerLimit(host, to: alive, at: now)
      model.caps[host] = LearnedCap(alive, after: model.caps[host], at: now)
      return "cap"
    }
    let until = now + .milliseconds(Int64(generator.next() % 2000))
    queue.pauseHost(host, until: until)
    model.pauses[host] = max(model.pauses[host] ?? until, until)
    return "back-off"
  }

  private mutating func order(_ index: Int, _ command: UInt64) -> String {
    let id = model.members[index].id
    switch command {
    case 19, 20:
      let rank = rank()
      queue.move(id, to: rank)
      model.move(index, to: rank)
      return "move"
    case 21:
      let priority = priority()
      queue.setPriority(id, priority)
      model.members[index].priority = priority
      return "priority"
    case 22:
      requestStart(index, isForced: false)
      return "start now"
    default:
      requestStart(index, isForced: true)
      return "force"
    }
  }

  private mutating func requestStart(_ index: Int, isForced: Bool) {
    model.requestStart(index, isForced ? .forced : .startNow)
    let member = model.members[index]
    queue.requestStart(member.id, StartRequest(number: member.startOrder, isForced: isForced))
  }

  private mutating func agrees() -> String? {
    var judge = StartInvariants(model, at: now)
    let mayStart = queue.mayStart(at: now)
    let (found, wanted) = (queue.next(at: now), model.next(at: now))
    guard mayStart || found.isEmpty else { return "started \(found), which it said may not" }
    guard !queue.mayStart(at: now) else { return "may start more than it started" }
    guard found == wanted else { return "started \(found), not \(wanted)" }
    if let fault = judge.judge(found) { return fault }
    guard queue.nextWakeUp() == model.wakeUpTime else { return "another wake-up" }
    guard queue.active == model.activeCount else { return "\(queue.active) active" }
    guard queue.connections == model.members.reduce(0, { $0 + $1.connections }) else {
      return "\(queue.connections) connections"
    }
    for member in model.members {
      let reason = queue.reason(for: member.id, at: now)
      guard reason == model.reason(for: member, at: now) else {
        return "waits for \(String(describing: reason))"
      }
      guard queue.connections(of: member.id) == member.connections,
        queue.priority(of: member.id) == member.priority, queue.rank(of: member.id) == member.rank
      else { return "another member" }
    }
    return nil
  }

  /// Lets everything end: each must start, so that none starves and no slot is lost.
  private mutating func drain() -> String? {
    queue.isSuspended = false
    model.isSuspended = false
    for index in model.members.indices where model.members[index].phase == .paused {
      queue.add(model.members[index].id, host: model.members[index].host)
      model.members[index].phase = .queued
    }
    now = now + .seconds(3600)
    while !model.members.isEmpty {
      if let fault = agrees() { return "at the end: \(fault)" }
      let running = model.members.filter { $0.phase == .active }
      guard !running.isEmpty else { return "\(model.members.count) never start" }
      for member in running { queue.finished(member.id) }
      model.members.removeAll { $0.phase == .active }
    }
    return queue.active == 0 && queue.connections == 0 ? nil : "something is left"
  }
}

/// What must hold of every start, in any order.
private struct StartInvariants {
  private var state: SchedulerModel

  init(_ state: SchedulerModel, at now: Instant) {
    self.state = state
    self.state.wake(at: now)
  }

  mutating func judge(_ started: [TransferID]) -> String? {
    for id in started {
      guard let index = state.members.firstIndex(where: { $0.id == id }),
        state.members[index].phase == .queued
      else { return "started what was not queued" }
      let member = state.members[index]
      guard state.fits(member) else { return "started beyond a limit of its host" }
      if member.startLevel != .forced {
        guard !state.isSuspended else { return "started while suspended" }
        guard state.activeCount < state.limits.active else { return "more than the slots" }
      }
      if member.startLevel == .none, state.members.contains(where: { isBefore($0, member) }) {
        return "started before one of its host and priority that comes first"
      }
      state.members[index].phase = .active
    }
    return nil
  }

  private func isBefore(_ other: SchedulerModel.Member, _ member: SchedulerModel.Member) -> Bool {
    other.phase == .queued && other.startLevel == .none && other.host == member.host
      && other.priority == member.priority
      && (other.rank, other.sequence) < (member.rank, member.sequence)
  }
}
