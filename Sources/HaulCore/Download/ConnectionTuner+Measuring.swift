/// Measuring after the doubling.
extension ConnectionTuner {
  mutating func begin(_ trial: Trial, at now: Instant) {
    phase = .opening(trial, begun: now, reached: nil)
  }

  /// A quarter fewer. After a clear success with more than `many`, half.
  private func fewer(than count: Int) -> Int {
    count - max(1, wasClear && count > Self.many ? count / 2 : count / 4)
  }

  private func more(than count: Int) -> Int { count + max(1, wasClear ? count : count / 4) }

  /// Whether enough is left to repay a trial.
  private func isWorthTrying(_ sample: Sample) -> Bool {
    // Nothing can be measured while no bytes come.
    guard let rest = sample.rest, base.rate > 0 else { return false }
    let trial =
      max(Self.minimumMeasurement, sample.latency)
      + max(Self.measurement, min(sample.latency * 2, Self.maximumMeasurement))
    return Double(rest) / max(base.rate, 1)
      >= max(Self.minimumSecondsLeft, 10 * (trial / .seconds(1)))
  }

  /// Waits until the target number is open and the bytes of the old number have arrived.
  mutating func waitForTarget(
    _ sample: Sample, _ trial: Trial, since begun: Instant, _ reached: Instant?, at now: Instant
  ) {
    guard !sample.isLimitedElsewhere, sample.delivering > 0 else { return }
    let isReached = sample.open == target && sample.delivering == sample.open
    // If that takes long, other transfers have the connections: measures the open ones.
    guard isReached || now - begun >= Self.connectionWait else {
      phase = .opening(trial, begun: begun, reached: nil)
      return
    }
    let since = reached ?? now
    phase = .opening(trial, begun: begun, reached: since)
    guard now - since >= max(Self.minimumMeasurement, sample.latency) else { return }
    phase = .measuring(trial, Baseline(sample, at: now))
  }

  mutating func measure(
    _ sample: Sample, _ trial: Trial, since baseline: Baseline, at now: Instant
  ) {
    guard sample.open == baseline.count else { return begin(trial, at: now) }
    let time = now - baseline.instant
    let isEnough =
      sample.bytes - baseline.bytes >= Self.bytesPerMeasurement * Int64(min(baseline.count, 4))
    guard time >= max(Self.measurement, min(sample.latency * 2, Self.maximumMeasurement)),
      isEnough || time >= Self.maximumMeasurement
    else { return }
    let level = Level(count: baseline.count, rate: baseline.rate(sample, at: now))
    switch trial {
    case .base:
      base = level
      if !hasTriedFewer, !hasTriedMore { best = level.rate }
      best = max(best, level.rate)
    case .fewer: judgeFewer(level)
    case .more: judgeMore(level)
    }
    // Back at the old number: measure it again, because the network may have changed.
    if trial != .base, target != level.count { return begin(.base, at: now) }
    tryNext(sample, at: now)
  }

  private mutating func judgeFewer(_ level: Level) {
    best = max(best, level.rate)
    guard level.count < base.count, level.rate > 0, level.rate >= Self.minimumKept * best else {
      hasTriedFewer = true
      wasClear = false
      target = base.count
      return
    }
    if level.rate > base.rate * 1.1 {
      reason = .slower
    } else if reason != .slower {
      reason = .noGain
    }
    // The previous number was measured. After a large step down, a number below it may be better.
    hasTriedMore = !(wasClear && base.count > Self.many)
    wasClear = level.rate > base.rate * 1.1
    base = level
  }

  private mutating func judgeMore(_ level: Level) {
    let share = Double(level.count - base.count) / Double(max(base.count, 1))
    guard share > 0, level.rate >= base.rate * (1 + Self.minimumGain * share) else {
      wasClear = false
      hasTriedMore = true
      if level.rate < base.rate * 0.9 {
        reason = .slower
      } else if reason != .slower {
        reason = .noGain
      }
      target = base.count
      return
    }
    best = max(best, level.rate)
    wasClear = level.rate >= base.rate * (1 + 0.8 * share)
    // Fewer connections were already measured.
    hasTriedFewer = true
    base = level
  }

  private mutating func tryNext(_ sample: Sample, at now: Instant) {
    let isWorthTrying = isWorthTrying(sample)
    if isWorthTrying, !hasTriedFewer, base.count > 1 {
      target = fewer(than: base.count)
      return begin(.fewer, at: now)
    }
    if isWorthTrying, !hasTriedMore, base.count < sample.limit, base.count == target {
      target = min(more(than: base.count), sample.limit)
      return begin(.more, at: now)
    }
    if hasTriedFewer || hasTriedMore {
      if target == sample.limit { reason = sample.limit < highestLimit ? .refused : .limit }
      if base.count == target { choice = ConnectionChoice(target, reason, rate: base.rate) }
    }
    phase = .resting(until: now + pause)
    pause = min(pause * 2, Self.maximumPause)
  }

  mutating func rest(_ sample: Sample, until: Instant, at now: Instant) {
    guard now >= until, !sample.isLimitedElsewhere else { return }
    // A remembered number may have suited another file only: try more first.
    (hasTriedFewer, hasTriedMore, wasClear) = (reason == .remembered, false, false)
    begin(.base, at: now)
  }
}
