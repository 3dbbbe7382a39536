/// Doubling.
extension ConnectionTuner {
  mutating func grow(_ sample: Sample, since mark: Mark?, at now: Instant) {
    if let mark, sample.delivering > mark.count, let better = better(sample, since: mark, at: now) {
      return fallBack(to: better, at: now)
    }
    if let mark, !sample.isHeldBack, sample.delivering <= mark.count, sample.open <= mark.count,
      now - mark.instant >= Self.patience, mark.count < target
    {
      // More are not to be had: the rest is not worth more, or other transfers have the
      // connections.
      return begin(.base, at: now)
    }
    guard sample.delivering > 0, sample.delivering == sample.open else { return }
    let here = mark.flatMap { sample.open > $0.count ? nil : $0 } ?? Mark(sample, at: now)
    phase = .growing(here)
    guard sample.open >= target else { return }
    if let remembered, sample.limit > 1 {
      self.remembered = nil
      guard remembered > target else { return keep(.remembered, at: now) }
      target = min(remembered, sample.limit)
      return keep(.remembered, at: now)
    }
    let left = secondsLeft(sample, since: mark, at: now)
    if here.count >= Self.few, isNear(sample) {
      if mustLook(at: here, left, since: mark?.instant ?? now, now) { return }
      if sample.bytes - here.bytes >= Self.bytesThatTell * 4,
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
    if left >= Self.shortestGrowth { target = min(target * 2, sample.limit) }
  }

  /// How long the rest takes if those that have just begun bring as much as the others.
  private func secondsLeft(_ sample: Sample, since mark: Mark?, at now: Instant) -> Double {
    guard let rest = sample.rest, let mark else { return .infinity }
    let rate = mark.rate(sample, at: now) * Double(sample.open) / Double(mark.count)
    return rate > 0 ? Double(rest) / rate : .infinity
  }

  /// Whether a look is several round trips long. Over a longer way bytes come in bursts, one in
  /// each of them, and a step lasts long enough by itself.
  private func isNear(_ sample: Sample) -> Bool { sample.latency * 2 <= Self.look }

  /// Whether so many connections are looked at for a moment before there are more: a long download
  /// loses nothing by it, and much where fewer are better. What was seen for an instant does not
  /// say that it is short: buffers fill at once.
  private func mustLook(
    at mark: Mark, _ secondsLeft: Double, since seen: Instant, _ now: Instant
  ) -> Bool {
    guard now - mark.instant < Self.look else { return false }
    return now - seen < Self.glance || (Self.shortestRest..<Double.infinity).contains(secondsLeft)
  }

  /// The number to go back to when the last step was not worth it; nil when it was, and when it was
  /// too short to tell.
  private mutating func better(_ sample: Sample, since mark: Mark, at now: Instant) -> Int? {
    let shortest = isNear(sample) ? Self.look : max(Self.shortest, sample.latency)
    guard !sample.isHeldBack, now - mark.instant >= shortest else { return nil }
    let level = Level(count: mark.count, rate: mark.rate(sample, at: now))
    defer { step = level }
    guard let step, step.rate > 0, level.count > step.count else { return nil }
    let share = Double(level.count - step.count) / Double(step.count)
    guard level.rate < step.rate * (1 + Self.leastGain * share) else { return nil }
    reason = level.rate < step.rate * 0.9 ? .slower : .noGain
    return level.rate < step.rate * 1.1 ? step.count : level.count
  }

  private mutating func fallBack(to count: Int, at now: Instant) {
    target = count
    begin(.base, at: now)
  }

  private mutating func keep(_ why: ConnectionChoice.Reason, at now: Instant) {
    reason = why
    choice = ConnectionChoice(target, why)
    phase = .resting(until: now + Self.doubt)
  }
}
