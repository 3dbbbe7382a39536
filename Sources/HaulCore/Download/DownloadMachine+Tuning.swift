/// Chooses connections by throughput: how many, which ones lag, and which are no longer needed.
extension DownloadMachine {
  mutating func measured(_ plan: inout SegmentPlan) -> [Command] {
    let commands = measureRates(&plan)
    // An idle connection may help the segment that would end last.
    return plan.unassigned.isEmpty ? commands + openMore(&plan) : commands
  }

  /// Measures how fast bytes come, and acts on it.
  mutating func measureRates(_ plan: inout SegmentPlan) -> [Command] {
    guard goal == .transfer, ending == nil, !fetches.isEmpty else { return [] }
    meter.watch(&fetches, plan, heldBack: surroundings.heldBack, at: now)
    let commands = tune(&plan)
    guard plan.window == nil, !surroundings.isRateLimited,
      let straggler = meter.takeStraggler(of: fetches, plan, at: now)
    else { return commands }
    return commands + [stopUnneeded(straggler)]
  }

  /// Passes a sample to the tuner, and follows its target.
  mutating func tune(_ plan: inout SegmentPlan) -> [Command] {
    guard surroundings.heldBack.isEmpty else {
      meter.tuner.handle(.heldBack, at: now)
      return []
    }
    let before = meter.tuner.target
    meter.tuner.handle(.measured(sample(plan)), at: now)
    let reported = meter.takeChoice().map { [Command.connectionsChosen($0)] } ?? []
    if meter.tuner.target > before { return reported + openMore(&plan) }
    return reported + stopSurplus(plan)
  }

  private func sample(_ plan: SegmentPlan) -> ConnectionTuner.Sample {
    let bytes = plan.receivedCount
    return ConnectionTuner.Sample(
      open: fetches.count, delivering: fetches.values.count { !$0.isUnneeded && $0.hasDelivered },
      bytes: bytes, rest: plan.length.map { $0 - bytes }, limit: maximumConnections,
      latency: .milliseconds(Int64(meter.estimate.latency * 1000)),
      isLimitedElsewhere: plan.window != nil)
  }

  /// Stops the slowest of the surplus connections.
  private mutating func stopSurplus(_ plan: SegmentPlan) -> [Command] {
    guard goal == .transfer, plan.window == nil, fetches.count > targetConnections else {
      return []
    }
    let active = fetches.filter { !$0.value.isUnneeded && $0.value.slowness == nil }
    guard active.count > targetConnections else { return [] }
    return meter.bySpeed(active.keys).prefix(active.count - targetConnections).map {
      stopUnneeded($0)
    }
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
