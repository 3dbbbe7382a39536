/// How many connections one download is worth, judged by the bytes that they bring.
///
/// It begins with one and doubles, each step after the last one delivered, as long as nothing measured speaks against it.
/// Then it measures at rest: a few connections less for a moment, or a few more, and keeps what pays. Now and then it
/// tries again, ever more rarely, for networks change.
package struct ConnectionTuner: Sendable, Hashable {
  /// What is seen of the connections at one moment.
  package struct Sample: Sendable, Hashable {
    /// Connections that are open or being opened.
    package var open: Int
    /// Those of them whose first bytes have come.
    package var delivering: Int
    /// Bytes received so far, in all.
    package var bytes: Int64
    /// Bytes that are missing; nil while the length is unknown.
    package var rest: Int64?
    /// The most that may be open: the user's number, or the server's where that is lower.
    package var limit: Int
    /// From asking for a connection to its first bytes.
    package var latency: Duration
    /// Whether something else than the network may set the pace, so that nothing can be measured.
    package var isHeldBack: Bool

    package init(
      open: Int, delivering: Int, bytes: Int64, rest: Int64? = nil, limit: Int,
      latency: Duration = .zero, isHeldBack: Bool = false
    ) {
      self.open = open
      self.delivering = delivering
      self.bytes = bytes
      self.rest = rest
      self.limit = limit
      self.latency = latency
      self.isHeldBack = isHeldBack
    }
  }

  package enum Event: Sendable, Hashable {
    /// Something was delivered, or some time has passed.
    case measured(Sample)
    /// No connection is left: it begins with one again.
    case lost
  }

  /// A number of connections and what it brought, in bytes per second.
  struct Level: Sendable, Hashable {
    var count: Int
    var rate: Double
  }

  /// A point that throughput is measured from.
  struct Mark: Sendable, Hashable {
    var instant: Instant
    var bytes: Int64
    var count: Int

    init(_ sample: Sample, at now: Instant) {
      (instant, bytes, count) = (now, sample.bytes, sample.open)
    }

    func rate(_ sample: Sample, at now: Instant) -> Double {
      let seconds = (now - instant) / .seconds(1)
      return seconds > 0 ? Double(sample.bytes - bytes) / seconds : 0
    }
  }

  enum Trial: Sendable, Hashable { case base, fewer, more }

  enum Phase: Sendable, Hashable {
    /// Doubling; the mark is where all of the present number had delivered.
    case growing(Mark?)
    /// Until there are as many as there should be; `there` is since when.
    case settling(Trial, begun: Instant, there: Instant?)
    case measuring(Trial, Mark)
    case resting(until: Instant)
  }

  /// How many connections there should be.
  package private(set) var target = 1
  /// The number that was settled on and why; nil before the first time.
  package private(set) var choice: ConnectionChoice?
  private var phase = Phase.growing(nil)
  /// The last step of the doubling that could be judged.
  private var step: Level?
  private var base = Level(count: 1, rate: 0)
  private var best = 0.0
  private var hasTriedFewer = false
  private var hasTriedMore = false
  /// Whether the last trial left no doubt.
  private var isPlain = false
  /// Why there are not more, as far as it is known.
  private var reason = ConnectionChoice.Reason.limit
  private var pause = ConnectionTuner.firstPause
  /// What another transfer of the host, or this one before, settled on.
  private var remembered: Int?
  private var highestLimit = 1

  /// - Parameter remembered: the number that an earlier transfer of the host settled on.
  package init(remembered: Int? = nil) { self.remembered = remembered }

  /// Takes one event in; `target`, and perhaps `choice`, are others then.
  package mutating func handle(_ event: Event, at now: Instant) {
    switch event {
    case .lost:
      if let choice, choice.reason != .limit { remembered = choice.connections }
      target = 1
      step = nil
      phase = .growing(nil)
    case .measured(let sample):
      keepLimit(sample)
      switch phase {
      case .growing(let mark): grow(sample, since: mark, at: now)
      case .settling(let trial, let begun, let there):
        settle(sample, trial, since: begun, there, at: now)
      case .measuring(let trial, let mark): measure(sample, trial, since: mark, at: now)
      case .resting(let until): rest(sample, until: until, at: now)
      }
    }
  }

  private mutating func keepLimit(_ sample: Sample) {
    highestLimit = max(highestLimit, sample.limit)
    guard sample.limit < target else { return }
    target = max(sample.limit, 1)
    choice = ConnectionChoice(target, .refused)
  }
}

/// Doubling.
extension ConnectionTuner {
  private mutating func grow(_ sample: Sample, since mark: Mark?, at now: Instant) {
    if let mark, sample.delivering > mark.count, let better = better(sample, since: mark, at: now) {
      return fallBack(to: better, at: now)
    }
    if let mark, sample.delivering <= mark.count, sample.open <= mark.count,
      now - mark.instant >= Self.patience, mark.count < target
    {
      // More are not to be had: the rest is not worth more, or other transfers have the connections.
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

  /// Whether a look is several round trips long. Over a longer way bytes come in bursts, one in each of them, and a step
  /// lasts long enough by itself.
  private func isNear(_ sample: Sample) -> Bool { sample.latency * 2 <= Self.look }

  /// Whether so many connections are looked at for a moment before there are more: a long download loses nothing by it,
  /// and much where fewer are better. What was seen for an instant does not say that it is short: buffers fill at once.
  private func mustLook(
    at mark: Mark, _ secondsLeft: Double, since seen: Instant, _ now: Instant
  ) -> Bool {
    guard now - mark.instant < Self.look else { return false }
    return now - seen < Self.glance || (Self.shortestRest..<Double.infinity).contains(secondsLeft)
  }

  /// The number to go back to when the last step was not worth it; nil when it was, and when it was too short to tell.
  private mutating func better(_ sample: Sample, since mark: Mark, at now: Instant) -> Int? {
    let shortest = isNear(sample) ? Self.look : max(Self.shortest, sample.latency)
    guard now - mark.instant >= shortest else { return nil }
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

/// Measuring at rest.
extension ConnectionTuner {
  /// A measurement is this long at least.
  private static let shortest: Duration = .milliseconds(100)
  private static let measurement: Duration = .milliseconds(200)
  /// Long enough to judge a step of the doubling by, and too short for that.
  private static let look: Duration = .milliseconds(50)
  private static let glance: Duration = .milliseconds(20)
  private static let longest: Duration = .seconds(2)
  private static let patience: Duration = .seconds(1)
  /// How long what was remembered is believed.
  private static let doubt: Duration = .seconds(2)
  private static let firstPause: Duration = .seconds(5)
  private static let longestPause: Duration = .seconds(60)
  /// Bytes of each connection, of four at most, that make a measurement good enough.
  private static let bytesThatTell: Int64 = 64 << 10
  /// The part of its fair share of the throughput that a further connection must bring.
  private static let leastGain = 0.4
  /// Fewer connections must bring this part of the best that was seen.
  private static let leastKept = 0.93
  /// Of more than these as many as half are taken away at once.
  private static let many = 8
  /// Nothing is tried that shorter downloads would lose more by than they could gain.
  private static let shortestRest = 3.0
  /// With fewer seconds left at the present speed, more connections would come too late.
  private static let shortestGrowth = 1.0
  /// So many connections are asked for without a look at what they bring.
  private static let few = 4

  private mutating func begin(_ trial: Trial, at now: Instant) {
    phase = .settling(trial, begun: now, there: nil)
  }

  /// A quarter; where the last trial was a plain success, more at once.
  private func fewer(than count: Int) -> Int {
    count - max(1, isPlain && count > Self.many ? count / 2 : count / 4)
  }

  private func more(than count: Int) -> Int { count + max(1, isPlain ? count : count / 4) }

  /// Whether enough is left for a trial to be repaid.
  private func isWorthTrying(_ sample: Sample) -> Bool {
    // At a standstill nothing can be told.
    guard let rest = sample.rest, base.rate > 0 else { return false }
    let trial =
      max(Self.shortest, sample.latency)
      + max(Self.measurement, min(sample.latency * 2, Self.longest))
    return Double(rest) / max(base.rate, 1) >= max(Self.shortestRest, 10 * (trial / .seconds(1)))
  }

  /// Waits until there are as many as there should be, and what was on its way has arrived.
  private mutating func settle(
    _ sample: Sample, _ trial: Trial, since begun: Instant, _ there: Instant?, at now: Instant
  ) {
    guard !sample.isHeldBack, sample.delivering > 0 else { return }
    let isThere = sample.open == target && sample.delivering == sample.open
    // Where that takes long, others have the connections: what is there is measured.
    guard isThere || now - begun >= Self.patience else {
      phase = .settling(trial, begun: begun, there: nil)
      return
    }
    let since = there ?? now
    phase = .settling(trial, begun: begun, there: since)
    guard now - since >= max(Self.shortest, sample.latency) else { return }
    phase = .measuring(trial, Mark(sample, at: now))
  }

  private mutating func measure(
    _ sample: Sample, _ trial: Trial, since mark: Mark, at now: Instant
  ) {
    guard sample.open == mark.count else { return begin(trial, at: now) }
    let time = now - mark.instant
    let isEnough = sample.bytes - mark.bytes >= Self.bytesThatTell * Int64(min(mark.count, 4))
    guard time >= max(Self.measurement, min(sample.latency * 2, Self.longest)),
      isEnough || time >= Self.longest
    else { return }
    let level = Level(count: mark.count, rate: mark.rate(sample, at: now))
    switch trial {
    case .base:
      base = level
      if !hasTriedFewer, !hasTriedMore { best = level.rate }
      best = max(best, level.rate)
    case .fewer: judgeFewer(level)
    case .more: judgeMore(level)
    }
    // Back where it was, what that brings is measured anew: the network may have changed.
    if trial != .base, target != level.count { return begin(.base, at: now) }
    tryNext(sample, at: now)
  }

  private mutating func judgeFewer(_ level: Level) {
    best = max(best, level.rate)
    guard level.count < base.count, level.rate > 0, level.rate >= Self.leastKept * best else {
      hasTriedFewer = true
      isPlain = false
      target = base.count
      return
    }
    if level.rate > base.rate * 1.1 {
      reason = .slower
    } else if reason != .slower {
      reason = .noGain
    }
    // As many as were there before need not be tried again; after a long stride perhaps fewer than those.
    hasTriedMore = !(isPlain && base.count > Self.many)
    isPlain = level.rate > base.rate * 1.1
    base = level
  }

  private mutating func judgeMore(_ level: Level) {
    let share = Double(level.count - base.count) / Double(max(base.count, 1))
    guard share > 0, level.rate >= base.rate * (1 + Self.leastGain * share) else {
      isPlain = false
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
    isPlain = level.rate >= base.rate * (1 + 0.8 * share)
    // Fewer of them were there before.
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
    pause = min(pause * 2, Self.longestPause)
  }

  private mutating func rest(_ sample: Sample, until: Instant, at now: Instant) {
    guard now >= until, !sample.isHeldBack else { return }
    // What is only remembered may have been true of another file: more are tried first.
    (hasTriedFewer, hasTriedMore, isPlain) = (reason == .remembered, false, false)
    begin(.base, at: now)
  }
}
