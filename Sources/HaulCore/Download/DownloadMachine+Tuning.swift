/// Chooses connections by throughput: how many, which ones lag, and which are no longer needed.
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
    let commands = measureRates(&plan)
    // An idle connection may help the segment that would end last.
    return plan.unassigned.isEmpty ? commands + openMore(&plan) : commands
  }

  /// Measures how fast bytes come, and acts on it.
  mutating func measureRates(_ plan: inout SegmentPlan) -> [Command] {
    guard goal == .transfer, !isFinishing, !fetches.isEmpty else { return [] }
    watch(plan)
    let commands = tune(&plan)
    return plan.window == nil ? commands + replaceSlowest(plan) : commands
  }

  /// Passes a sample to the tuner, and follows its target.
  mutating func tune(_ plan: inout SegmentPlan) -> [Command] {
    guard surroundings.heldBack.isEmpty else {
      tuner.handle(.heldBack, at: now)
      return []
    }
    let before = tuner.target
    tuner.handle(.measured(sample(plan)), at: now)
    let reported = reportChoice()
    if tuner.target > before { return reported + openMore(&plan) }
    return reported + stopSurplus(plan)
  }

  private func sample(_ plan: SegmentPlan) -> ConnectionTuner.Sample {
    let bytes = plan.receivedCount
    return ConnectionTuner.Sample(
      open: fetches.count, delivering: fetches.values.count { !$0.isUnneeded && $0.hasDelivered },
      bytes: bytes, rest: plan.length.map { $0 - bytes }, limit: maximumConnections,
      latency: .milliseconds(Int64(throughputEstimate.latency * 1000)),
      isLimitedElsewhere: plan.window != nil)
  }

  private mutating func reportChoice() -> [Command] {
    guard let choice = tuner.choice,
      choice.connections != reportedChoice?.connections || choice.reason != reportedChoice?.reason
    else { return [] }
    reportedChoice = choice
    return [.connectionsChosen(choice)]
  }

  /// Stops the slowest of the surplus connections.
  private mutating func stopSurplus(_ plan: SegmentPlan) -> [Command] {
    guard goal == .transfer, plan.window == nil, fetches.count > targetConnections else {
      return []
    }
    let active = fetches.filter { !$0.value.isUnneeded && $0.value.slowness == nil }
    guard active.count > targetConnections else { return [] }
    let slowest = active.keys.map {
      (id: $0, rate: throughputEstimate.rates[$0] ?? throughputEstimate.medianRate ?? 0)
    }
    .sorted { ($0.rate, $1.id) < ($1.rate, $0.id) }
    return slowest.prefix(active.count - targetConnections).map { stopUnneeded($0.id) }
  }

  private mutating func stopUnneeded(_ id: SegmentID) -> Command {
    fetches[id]?.isUnneeded = true
    return .stop(id)
  }

  /// Stops segments whose bytes another has fetched.
  mutating func stopRedundant(_ plan: SegmentPlan) -> [Command] {
    plan.redundantSegments.filter { fetches[$0]?.isUnneeded == false }.map { stopUnneeded($0) }
  }
}

/// The speed of each connection.
extension DownloadMachine {
  mutating func noteLatency(of id: SegmentID) {
    guard let opened = fetches[id]?.openedAt else { return }
    let seconds = (now - opened) / .seconds(1)
    throughputEstimate.latency =
      throughputEstimate.latency == 0 ? seconds : throughputEstimate.latency * 0.7 + seconds * 0.3
  }

  /// Uses the speed of an ended segment for the others, if they were too short to be measured, or
  /// silent then. Otherwise the download would wait for a silent connection.
  mutating func noteSpeed(of ended: Fetch, upTo position: Int64?) {
    let seconds = (now - ended.openedAt) / .seconds(1)
    guard !fetches.isEmpty, seconds > 0, let position, position > ended.start else { return }
    let rate = Double(position - ended.start) / seconds
    throughputEstimate.medianRate = max(throughputEstimate.medianRate ?? 1, rate)
  }

  /// Measures the rate of each segment, once it covers 300 ms. A connection without bytes gets rate
  /// 0 after 1 s, or four latencies if that is longer. One that waits for the rate limit has none.
  private mutating func watch(_ plan: SegmentPlan) {
    throughputEstimate.rates = [:]
    for (id, fetch) in fetches where !fetch.isUnneeded && fetch.slowness == nil {
      guard let position = plan.segments[id]?.next else { continue }
      if surroundings.heldBack.contains(id) {
        fetches[id]?.pace = nil
        continue
      }
      if !fetch.hasDelivered {
        if (now - fetch.openedAt) / .seconds(1) > max(1, 4 * throughputEstimate.latency) {
          throughputEstimate.rates[id] = 0
        }
        continue
      }
      var pace = fetch.pace ?? SegmentPace(position: position, at: now)
      pace.note(position, at: now)
      fetches[id]?.pace = pace
      if pace.span >= .milliseconds(300) { throughputEstimate.rates[id] = pace.rate }
    }
    let rates = throughputEstimate.rates.values.sorted()
    if rates.count > 1 { throughputEstimate.medianRate = max(rates[rates.count / 2], 1) }
  }

  /// Replaces a connection that is far slower than the others: a new one may be faster.
  private mutating func replaceSlowest(_ plan: SegmentPlan) -> [Command] {
    guard !surroundings.isRateLimited, replacements.isDue(at: now),
      throughputEstimate.rates.count > 2,
      let medianRate = throughputEstimate.medianRate,
      let (id, rate) = throughputEstimate.rates.min(by: { ($0.value, $0.key) < ($1.value, $1.key) }
      ),
      rate < medianRate / 4, let fetch = fetches[id], let segment = plan.segments[id],
      !segment.isShared, !fetch.hasDelivered || (fetch.pace?.span ?? .zero) >= .milliseconds(900),
      throughputEstimate.seconds(segment.remaining, of: id)
        > 2 + throughputEstimate.latency + Double(segment.remaining) / medianRate
    else { return [] }
    replacements.note(at: now)
    return [stopUnneeded(id)]
  }
}
