/// The doubling of connections.
extension ConnectionTuner {
  mutating func grow(_ sample: Sample, since baseline: Baseline?, at now: Instant) {
    if let baseline, sample.delivering > baseline.count,
      let better = better(sample, since: baseline, at: now)
    {
      return fallBack(to: better, at: now)
    }
    if let baseline, !sample.isLimitedElsewhere, sample.delivering <= baseline.count,
      sample.open <= baseline.count,
      now - baseline.instant >= Self.connectionWait, baseline.count < target
    {
      // No more are possible: the rest is too small, or other transfers have the connections.
      return begin(.base, at: now)
    }
    guard sample.delivering > 0, sample.delivering == sample.open else { return }
    let here = baseline.flatMap { sample.open > $0.count ? nil : $0 } ?? Baseline(sample, at: now)
    phase = .growing(here)
    guard sample.open >= target else { return }
    if let remembered, sample.limit > 1 {
      self.remembered = nil
      guard remembered > target else { return keep(.remembered, at: now) }
      target = min(remembered, sample.limit)
      return keep(.remembered, at: now)
    }
    let left = secondsLeft(sample, since: baseline, at: now)
    if here.count >= Self.few, isNear(sample) {
      if mustMeasure(at: here, left, since: baseline?.instant ?? now, now) { return }
      if sample.bytes - here.bytes >= Self.bytesPerMeasurement * 4,
        let better = better(sample, since: here, at: now)
      {
        return fallBack(to: better, at: now)
      }
    }
    guard target < sample.limit else {
      if sample.limit > 1, sample.limit == highestLimit {
        choice = ConnectionChoice(target, .limit)
      }
      return begin(.base, at: now)
    }
    if left >= Self.minimumGrowth { target = min(target * 2, sample.limit) }
  }

  /// The remaining time, in seconds, if every open connection is as fast as those measured.
  private func secondsLeft(_ sample: Sample, since baseline: Baseline?, at now: Instant) -> Double {
    guard let rest = sample.rest, let baseline else { return .infinity }
    let rate = baseline.rate(sample, at: now) * Double(sample.open) / Double(baseline.count)
    return rate > 0 ? Double(rest) / rate : .infinity
  }

  /// Whether `shortMeasurement` lasts at least two round trips. With a longer latency, bytes come
  /// in one burst per round trip, and a doubling lasts long enough without it.
  private func isNear(_ sample: Sample) -> Bool { sample.latency * 2 <= Self.shortMeasurement }

  /// Whether to measure for longer before doubling. A long download loses nothing by that, and
  /// gains if fewer connections are better. A first burst does not prove that a download is short,
  /// because buffers fill at once.
  private func mustMeasure(
    at baseline: Baseline, _ secondsLeft: Double, since seen: Instant, _ now: Instant
  ) -> Bool {
    guard now - baseline.instant < Self.shortMeasurement else { return false }
    return now - seen < Self.burstMeasurement
      || (Self.minimumSecondsLeft..<Double.infinity).contains(secondsLeft)
  }

  /// The number of connections to continue with if the last doubling brought too little; nil if it
  /// brought enough, or was too short to decide.
  private mutating func better(_ sample: Sample, since baseline: Baseline, at now: Instant) -> Int?
  {
    let shortest =
      isNear(sample) ? Self.shortMeasurement : max(Self.minimumMeasurement, sample.latency)
    guard !sample.isLimitedElsewhere, now - baseline.instant >= shortest else { return nil }
    let level = Level(count: baseline.count, rate: baseline.rate(sample, at: now))
    defer { lastDoubling = level }
    guard let lastDoubling, lastDoubling.rate > 0, level.count > lastDoubling.count else {
      return nil
    }
    let share = Double(level.count - lastDoubling.count) / Double(lastDoubling.count)
    guard level.rate < lastDoubling.rate * (1 + Self.minimumGain * share) else { return nil }
    reason = level.rate < lastDoubling.rate * 0.9 ? .slower : .noGain
    return level.rate < lastDoubling.rate * 1.1 ? lastDoubling.count : level.count
  }

  private mutating func fallBack(to count: Int, at now: Instant) {
    target = count
    begin(.base, at: now)
  }

  private mutating func keep(_ why: ConnectionChoice.Reason, at now: Instant) {
    reason = why
    choice = ConnectionChoice(target, why)
    phase = .resting(until: now + Self.rememberedPeriod)
  }
}
