/// Measures the connections of a download: how many there should be, and which ones lag.
struct ConnectionMeter: Sendable {
  typealias Fetch = DownloadMachine.Fetch

  /// Finds the best number of connections.
  var tuner: ConnectionTuner
  private(set) var estimate = ThroughputEstimate()
  /// The choice that was reported.
  private var reported: ConnectionChoice?
  /// When a slow connection may be replaced; the time until the next replacement grows.
  private var nextReplacement = Instant()
  private var pause: Duration = .seconds(1)

  init(remembered: Int?) { tuner = ConnectionTuner(remembered: remembered) }

  /// The number that was chosen, and why, if it was not returned before.
  mutating func takeChoice() -> ConnectionChoice? {
    guard let choice = tuner.choice,
      choice.connections != reported?.connections || choice.reason != reported?.reason
    else { return nil }
    reported = choice
    return choice
  }

  /// - Parameter duration: from a request to its first bytes.
  mutating func noteLatency(_ duration: Duration) {
    let seconds = duration / .seconds(1)
    estimate.latency = estimate.latency == 0 ? seconds : estimate.latency * 0.7 + seconds * 0.3
  }

  /// Uses the speed of an ended segment for the others, if they were too short to be measured, or
  /// silent then. Otherwise the download would wait for a silent connection.
  mutating func noteSpeed(of ended: Fetch, upTo position: Int64?, at now: Instant) {
    let seconds = (now - ended.openedAt) / .seconds(1)
    guard seconds > 0, let position, position > ended.start else { return }
    let rate = Double(position - ended.start) / seconds
    estimate.medianRate = max(estimate.medianRate ?? 1, rate)
  }

  /// Measures the rate of each segment, once it covers 300 ms. A connection without bytes gets rate
  /// 0 after 1 s, or four latencies if that is longer. One that waits for the rate limit has none.
  mutating func watch(
    _ fetches: inout [SegmentID: Fetch], _ plan: SegmentPlan, heldBack: Set<SegmentID>,
    at now: Instant
  ) {
    estimate.rates = [:]
    for (id, fetch) in fetches where !fetch.isUnneeded && fetch.slowness == nil {
      guard let position = plan.segments[id]?.next else { continue }
      if heldBack.contains(id) {
        fetches[id]?.pace = nil
        continue
      }
      if !fetch.hasDelivered {
        if (now - fetch.openedAt) / .seconds(1) > max(1, 4 * estimate.latency) {
          estimate.rates[id] = 0
        }
        continue
      }
      var pace = fetch.pace ?? SegmentPace(position: position, at: now)
      pace.note(position, at: now)
      fetches[id]?.pace = pace
      if pace.span >= .milliseconds(300) { estimate.rates[id] = pace.rate }
    }
    let rates = estimate.rates.values.sorted()
    if rates.count > 1 { estimate.medianRate = max(rates[rates.count / 2], 1) }
  }

  /// The slowest first; of equal ones, the last.
  func bySpeed(_ ids: some Sequence<SegmentID>) -> [SegmentID] {
    ids.map { (id: $0, rate: estimate.rates[$0] ?? estimate.medianRate ?? 0) }
      .sorted { ($0.rate, $1.id) < ($1.rate, $0.id) }.map(\.id)
  }

  /// A connection that is far slower than the others, if one may be replaced now: a new one may be
  /// faster.
  mutating func takeStraggler(
    of fetches: [SegmentID: Fetch], _ plan: SegmentPlan, at now: Instant
  ) -> SegmentID? {
    guard now >= nextReplacement, estimate.rates.count > 2, let medianRate = estimate.medianRate,
      let (id, rate) = estimate.rates.min(by: { ($0.value, $0.key) < ($1.value, $1.key) }),
      rate < medianRate / 4, let fetch = fetches[id], let segment = plan.segments[id],
      !segment.isShared, !fetch.hasDelivered || (fetch.pace?.span ?? .zero) >= .milliseconds(900),
      estimate.seconds(segment.remaining, of: id)
        > 2 + estimate.latency + Double(segment.remaining) / medianRate
    else { return nil }
    nextReplacement = now + pause
    pause = min(pause * 2, .seconds(60))
    return id
  }
}
