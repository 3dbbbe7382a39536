import HaulCore

/// A network in virtual time: the throughput of so many connections, with noise, and the latency of
/// new ones.
struct ModelNetwork {
  /// The total bytes per second of so many connections.
  let throughput: (Int) -> Double
  /// The time from opening a connection to its first bytes.
  var latency: Duration = .milliseconds(40)
  /// The fraction by which an interval may differ.
  var noise = 0.0

  /// Each connection has this throughput, up to `most` in total.
  static func perConnection(_ rate: Double, most: Double = .infinity) -> ModelNetwork {
    ModelNetwork { min(rate * Double($0), most) }
  }

  /// Like `perConnection`, but everything becomes slower with each connection beyond `bearable`.
  static func slowing(_ rate: Double, beyond bearable: Int) -> ModelNetwork {
    ModelNetwork { count in
      (0..<max(count - bearable, 0)).reduce(rate * Double(min(count, bearable))) { total, _ in
        total * 0.85
      }
    }
  }

  func with(_ change: (inout ModelNetwork) -> Void) -> ModelNetwork {
    var copy = self
    change(&copy)
    return copy
  }
}

/// One download over a model network, controlled by a tuner that is sampled ten times a second.
struct TunedDownload {
  private static let step: Duration = .milliseconds(10)

  let network: ModelNetwork
  let length: Double
  var limit: Int
  var tuner: ConnectionTuner
  private(set) var now = Instant()
  private(set) var received = 0.0
  /// When each connection begins to deliver.
  private var connections: [Instant] = []
  private var generator: SplitMix64
  private var known = 0
  /// The reported choices, in order.
  private(set) var choices: [ConnectionChoice] = []
  /// The most connections that were open at once.
  private(set) var most = 0

  init(
    _ network: ModelNetwork, megabytes: Double, limit: Int, remembered: Int? = nil, seed: UInt64 = 1
  ) {
    self.network = network
    self.limit = limit
    length = megabytes * 1_000_000
    tuner = ConnectionTuner(remembered: remembered)
    generator = SplitMix64(seed: seed)
  }

  var isComplete: Bool { received >= length }
  var seconds: Double { now.sinceStart / .seconds(1) }
  var open: Int { connections.count }

  mutating func run(until end: Double = .infinity) {
    while !isComplete, seconds < end { advance() }
  }

  private mutating func advance() {
    let before = delivering
    // A short interval is noisier than a long one; this noise lasts one step and averages out.
    let factor = 1 + Double.random(in: -1...1, using: &generator) * network.noise
    let rate = before > 0 ? network.throughput(before) * factor : 0
    received += rate * (Self.step / .seconds(1))
    now = now + Self.step
    let isDue = now.sinceStart.components.attoseconds % 100_000_000_000_000_000 == 0
    if delivering != before || isDue { tell() }
    while connections.count < min(tuner.target, limit) { connections.append(now + network.latency) }
    most = max(most, connections.count)
    while connections.count > min(tuner.target, limit) { connections.removeLast() }
  }

  private var delivering: Int { connections.count { $0 <= now } }

  private mutating func tell() {
    let sample = ConnectionTuner.Sample(
      open: connections.count, delivering: delivering, bytes: Int64(received),
      rest: Int64(length - received), limit: limit, latency: network.latency)
    tuner.handle(.measured(sample), at: now)
    if let choice = tuner.choice, choices.last != choice { choices.append(choice) }
  }

  /// The duration with a fixed number of connections.
  static func fixed(_ count: Int, _ network: ModelNetwork, megabytes: Double) -> Double {
    network.latency / .seconds(1) + megabytes * 1_000_000 / network.throughput(count)
  }

  /// The shortest duration with any fixed number.
  static func best(_ network: ModelNetwork, megabytes: Double, limit: Int) -> Double {
    (1...limit).map { fixed($0, network, megabytes: megabytes) }.min() ?? 0
  }
}
