/// How many connections one download is worth, judged by the bytes that they bring.
///
/// It begins with one and doubles, each step after the last one delivered, as long as nothing
/// measured speaks against it. Then it measures at rest: a few connections less for a moment, or a
/// few more, and keeps what pays. Now and then it tries again, ever more rarely, for networks
/// change.
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
  package internal(set) var target = 1
  /// The number that was settled on and why; nil before the first time.
  package internal(set) var choice: ConnectionChoice?
  var phase = Phase.growing(nil)
  /// The last step of the doubling that could be judged.
  var step: Level?
  var base = Level(count: 1, rate: 0)
  var best = 0.0
  var hasTriedFewer = false
  var hasTriedMore = false
  /// Whether the last trial left no doubt.
  var isPlain = false
  /// Why there are not more, as far as it is known.
  var reason = ConnectionChoice.Reason.limit
  var pause = ConnectionTuner.firstPause
  /// What another transfer of the host, or this one before, settled on.
  var remembered: Int?
  var highestLimit = 1

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

/// How long, how many, how much.
extension ConnectionTuner {
  /// A measurement is this long at least.
  static let shortest: Duration = .milliseconds(100)
  static let measurement: Duration = .milliseconds(200)
  /// Long enough to judge a step of the doubling by, and too short for that.
  static let look: Duration = .milliseconds(50)
  static let glance: Duration = .milliseconds(20)
  static let longest: Duration = .seconds(2)
  static let patience: Duration = .seconds(1)
  /// How long what was remembered is believed.
  static let doubt: Duration = .seconds(2)
  static let firstPause: Duration = .seconds(5)
  static let longestPause: Duration = .seconds(60)
  /// Bytes of each connection, of four at most, that make a measurement good enough.
  static let bytesThatTell: Int64 = 64 << 10
  /// The part of its fair share of the throughput that a further connection must bring.
  static let leastGain = 0.4
  /// Fewer connections must bring this part of the best that was seen.
  static let leastKept = 0.93
  /// Of more than these as many as half are taken away at once.
  static let many = 8
  /// Nothing is tried that shorter downloads would lose more by than they could gain.
  static let shortestRest = 3.0
  /// With fewer seconds left at the present speed, more connections would come too late.
  static let shortestGrowth = 1.0
  /// So many connections are asked for without a look at what they bring.
  static let few = 4
}
