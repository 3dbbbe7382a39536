/// Finds the best number of connections for one download, by measuring throughput.
///
/// It starts with one connection and doubles the number until a doubling brings too little. Then it
/// tries fewer and more for a moment, and keeps the best. It tries again less and less often,
/// because networks change.
package struct ConnectionTuner: Sendable, Hashable {
  /// The state of the connections at one moment.
  package struct Sample: Sendable, Hashable {
    /// Connections that are open or being opened.
    package var open: Int
    /// Open connections that have delivered bytes.
    package var delivering: Int
    /// Bytes received so far, in total.
    package var bytes: Int64
    /// Bytes that are missing; nil while the length is unknown.
    package var rest: Int64?
    /// The most that may be open: the user's limit, or the server's if lower.
    package var limit: Int
    /// The time from requesting a connection to its first bytes.
    package var latency: Duration
    /// Whether something other than the network limits the rate, so that nothing can be measured.
    package var isLimitedElsewhere: Bool

    package init(
      open: Int, delivering: Int, bytes: Int64, rest: Int64? = nil, limit: Int,
      latency: Duration = .zero, isLimitedElsewhere: Bool = false
    ) {
      self.open = open
      self.delivering = delivering
      self.bytes = bytes
      self.rest = rest
      self.limit = limit
      self.latency = latency
      self.isLimitedElsewhere = isLimitedElsewhere
    }
  }

  package enum Event: Sendable, Hashable {
    /// Bytes were delivered, or time has passed.
    case measured(Sample)
    /// A rate limit holds bytes back: what was measured so far is void, and the number stays.
    case heldBack
    /// No connection is left: start again with one.
    case lost
  }

  /// A number of connections and its throughput, in bytes per second.
  struct Level: Sendable, Hashable {
    var count: Int
    var rate: Double
  }

  /// A starting point for measuring throughput.
  struct Baseline: Sendable, Hashable {
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
    /// Doubling; the baseline is the moment when all open connections had delivered.
    case growing(Baseline?)
    /// Until the target number is open; `reached` is when that was reached.
    case opening(Trial, begun: Instant, reached: Instant?)
    case measuring(Trial, Baseline)
    case resting(until: Instant)
  }

  /// How many connections there should be.
  package internal(set) var target = 1
  /// The chosen number and why; nil before the first choice.
  package internal(set) var choice: ConnectionChoice?
  var phase = Phase.growing(nil)
  /// The last doubling that was measured for long enough.
  var lastDoubling: Level?
  var base = Level(count: 1, rate: 0)
  var best = 0.0
  var hasTriedFewer = false
  var hasTriedMore = false
  /// Whether the last trial was a clear success.
  var wasClear = false
  /// Why there are not more connections, as far as known.
  var reason = ConnectionChoice.Reason.limit
  var pause = ConnectionTuner.firstPause
  /// The number that another transfer of the host, or this one earlier, ended with.
  var remembered: Int?
  var highestLimit = 1

  /// - Parameter remembered: the number that an earlier transfer of the host ended with.
  package init(remembered: Int? = nil) { self.remembered = remembered }

  /// Handles one event; may change `target` and `choice`.
  package mutating func handle(_ event: Event, at now: Instant) {
    switch event {
    case .lost:
      if let choice, choice.reason != .limit { remembered = choice.connections }
      target = 1
      lastDoubling = nil
      phase = .growing(nil)
    case .heldBack:
      switch phase {
      case .growing: (phase, lastDoubling) = (.growing(nil), nil)
      case .opening(let trial, _, _), .measuring(let trial, _): begin(trial, at: now)
      case .resting: break
      }
    case .measured(let sample):
      keepLimit(sample)
      switch phase {
      case .growing(let baseline): grow(sample, since: baseline, at: now)
      case .opening(let trial, let begun, let reached):
        waitForTarget(sample, trial, since: begun, reached, at: now)
      case .measuring(let trial, let baseline): measure(sample, trial, since: baseline, at: now)
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

/// Constants.
extension ConnectionTuner {
  /// The shortest measurement.
  static let minimumMeasurement: Duration = .milliseconds(100)
  static let measurement: Duration = .milliseconds(200)
  /// Long enough to judge a doubling; `burstMeasurement` is too short for that.
  static let shortMeasurement: Duration = .milliseconds(50)
  static let burstMeasurement: Duration = .milliseconds(20)
  static let maximumMeasurement: Duration = .seconds(2)
  static let connectionWait: Duration = .seconds(1)
  /// How long a remembered number is used without measuring.
  static let rememberedPeriod: Duration = .seconds(2)
  static let firstPause: Duration = .seconds(5)
  static let maximumPause: Duration = .seconds(60)
  /// A measurement needs this many bytes for each connection, for at most four.
  static let bytesPerMeasurement: Int64 = 64 << 10
  /// An additional connection must bring this part of its fair share of the throughput.
  static let minimumGain = 0.4
  /// Fewer connections must bring this part of the best measured throughput.
  static let minimumKept = 0.93
  /// Above this number, up to half of them are removed at once.
  static let many = 8
  /// With fewer seconds left, nothing is tried: a trial could cost more than it gains.
  static let minimumSecondsLeft = 3.0
  /// With fewer seconds left at the present speed, more connections would come too late.
  static let minimumGrowth = 1.0
  /// Up to this number, connections are opened without measuring.
  static let few = 4
}
