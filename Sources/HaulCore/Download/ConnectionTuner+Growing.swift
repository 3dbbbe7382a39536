/// The doubling of connections.
extension ConnectionTuner {
  mutating func grow(_ sample: Sample, since mark: Mark?, at now: Instant) {
    if let mark, sample.delivering > mark.count, let better = better(sample, since: mark, at: now) {
      return fallBack(to: better, at: now)
    }
    if let mark, !sample.isHeldBack, sample.delivering <= mark.count, sample.open <= mark.count,
      now - mark.instant >= Self.patience, mark.count < target
    {
      // No more are possible: the rest is too small, or other transfers have the connections.
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

  /// The seconds left if new connections become as fast as the others.
  private func secondsLeft(_ sample: Sample, since mark: Mark?, at now: Instant) -> Double {
    guard let rest = sample.rest, let mark else { return .infinity }
    let rate = mark.rate(sample, at: now) * Double(sample.open) / Double(mark.count)
    return rate > 0 ? Double(rest) / rate : .infinity
  }

  /// Whether a look lasts several round trips. With a longer latency, bytes come in one burst per
  /// round trip, and a step lasts long enough by itself.
  private func isNear(_ sample: Sample) -> Bool { sample.latency * 2 <= Self.look }

  /// Whether to measure this number of connections before doubling it. A long download loses
  /// nothing by that, and gains where fewer are better. A first burst does not prove that a
  /// download is short: buffers fill at once.
  private func mustLook(
    at mark: Mark, _ secondsLeft: Double, since seen: Instant, _ now: Instant
  ) -> Bool {
    guard now - mark.instant < Self.look else { return false }
    return now - seen < Self.glance || (Self.shortestRest..<Double.infinity).contains(secondsLeft)
  }

  /// The number to return to if the last step was not worth it; nil if it was, or if it was too
  /// short to tell.
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
