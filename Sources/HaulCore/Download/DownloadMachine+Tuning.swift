/// Connections by throughput: how many, which ones lag, and which are no longer needed.
extension DownloadMachine {
  /// When a slow connection was last replaced; the time until the next replacement grows.
  struct Replacements: Sendable {
    private var next = Instant()
    private var pause: Duration = .seconds(1)

    mutating func isDue(at now: Instant) -> Bool { now >= next }

    mutating func note(at now: Instant) {
      next = now + pause
      pause = min(pause * 2, .seconds(60))
    }
  }

  mutating func measured(_ plan: inout SegmentPlan) -> [Command] {
    let commands = look(&plan)
    // An idle connection may help the segment that would end last.
    return plan.unassigned.isEmpty ? commands + openMore(&plan) : commands
  }

  /// Measures how fast bytes come, and acts on it.
  mutating func look(_ plan: inout SegmentPlan) -> [Command] {
    guard goal == .transfer, !isFinishing, !fetches.isEmpty else { return [] }
    watch(plan)
    let commands = tune(&plan)
    return plan.window == nil ? commands + replaceSlowest(plan) : commands
  }

  /// Passes a sample to the tuner, and follows its target.
  mutating func tune(_ plan: inout SegmentPlan) -> [Command] {
    let before = tuner.target
    tuner.handle(.measured(sample(plan)), at: now)
    let told = tellChoice()
    if tuner.target > before { return told + openMore(&plan) }
    return told + layOff(plan)
  }

  private func sample(_ plan: SegmentPlan) -> ConnectionTuner.Sample {
    let bytes = plan.receivedCount
    return ConnectionTuner.Sample(
      open: fetches.count, delivering: fetches.values.count { !$0.isLaidOff && $0.hasDelivered },
      bytes: bytes, rest: plan.length.map { $0 - bytes }, limit: cap,
      latency: .milliseconds(Int64(outlook.latency * 1000)), isHeldBack: plan.window != nil)
  }

  private mutating func tellChoice() -> [Command] {
    guard let choice = tuner.choice,
      choice.connections != toldChoice?.connections || choice.reason != toldChoice?.reason
    else { return [] }
    toldChoice = choice
    return [.settled(choice)]
  }

  /// Stops the slowest of the surplus connections.
  private mutating func layOff(_ plan: SegmentPlan) -> [Command] {
    guard goal == .transfer, plan.window == nil, fetches.count > most else { return [] }
    let active = fetches.filter { !$0.value.isLaidOff && $0.value.slowness == nil }
    guard active.count > most else { return [] }
    let slowest = active.keys.map { (id: $0, rate: outlook.rates[$0] ?? outlook.typical ?? 0) }
      .sorted { ($0.rate, $1.id) < ($1.rate, $0.id) }
    return slowest.prefix(active.count - most).map { stopUnneeded($0.id) }
  }

  private mutating func stopUnneeded(_ id: SegmentID) -> Command {
    fetches[id]?.isLaidOff = true
    return .stop(id)
  }

  /// Stops segments whose bytes another has fetched.
  mutating func stopOvertaken(_ plan: SegmentPlan) -> [Command] {
    plan.overtaken.filter { fetches[$0]?.isLaidOff == false }.map { stopUnneeded($0) }
  }
}

/// The speed of each connection.
extension DownloadMachine {
  mutating func noteLatency(of id: SegmentID) {
    guard let opened = fetches[id]?.openedAt else { return }
    let seconds = (now - opened) / .seconds(1)
    outlook.latency = outlook.latency == 0 ? seconds : outlook.latency * 0.7 + seconds * 0.3
  }

  /// Uses the speed of an ended segment for the others, if they were too short to be measured:
  /// otherwise a silent one would be waited for.
  mutating func noteSpeed(of ended: Fetch, upTo position: Int64?) {
    let seconds = (now - ended.openedAt) / .seconds(1)
    guard outlook.typical == nil, !fetches.isEmpty, seconds > 0, let position,
      position > ended.start
    else { return }
    outlook.typical = max(Double(position - ended.start) / seconds, 1)
  }

  /// Notes each segment's position. A rate counts after some time; a connection that has not
  /// delivered yet gets longer.
  private mutating func watch(_ plan: SegmentPlan) {
    outlook.rates = [:]
    for (id, fetch) in fetches where !fetch.isLaidOff && fetch.slowness == nil {
      guard let position = plan.segments[id]?.next else { continue }
      if !fetch.hasDelivered {
        if (now - fetch.openedAt) / .seconds(1) > max(1, 4 * outlook.latency) {
          outlook.rates[id] = 0
        }
        continue
      }
      var pace = fetch.pace ?? SegmentPace(position: position, at: now)
      pace.note(position, at: now)
      fetches[id]?.pace = pace
      if pace.span >= .milliseconds(300) { outlook.rates[id] = pace.rate }
    }
    let rates = outlook.rates.values.sorted()
    if rates.count > 1 { outlook.typical = max(rates[rates.count / 2], 1) }
  }

  /// Replaces a connection that is far slower than the others: a new one may be faster.
  private mutating func replaceSlowest(_ plan: SegmentPlan) -> [Command] {
    guard rules.givesUpSlowConnections, replacements.isDue(at: now), outlook.rates.count > 2,
      let typical = outlook.typical,
      let (id, rate) = outlook.rates.min(by: { ($0.value, $0.key) < ($1.value, $1.key) }),
      rate < typical / 4, let fetch = fetches[id], let segment = plan.segments[id],
      !segment.isShared, !fetch.hasDelivered || (fetch.pace?.span ?? .zero) >= .milliseconds(900),
      outlook.seconds(segment.remaining, of: id)
        > 2 + outlook.latency + Double(segment.remaining) / typical
    else { return [] }
    replacements.note(at: now)
    return [stopUnneeded(id)]
  }
}
