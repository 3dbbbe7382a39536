/// The speed of one connection over the last half to whole second.
struct SegmentPace: Sendable, Hashable {
  private struct RatePoint: Sendable, Hashable {
    var instant: Instant
    var position: Int64
  }

  private static let period: Duration = .milliseconds(500)
  private var older: RatePoint
  private var newer: RatePoint
  private var last: RatePoint

  init(position: Int64, at now: Instant) {
    older = RatePoint(instant: now, position: position)
    (newer, last) = (older, older)
  }

  /// Notes that the connection has reached `position`.
  mutating func note(_ position: Int64, at now: Instant) {
    last = RatePoint(instant: now, position: position)
    guard now - newer.instant >= Self.period else { return }
    (older, newer) = (newer, last)
  }

  /// The time that `rate` covers.
  var span: Duration { last.instant - older.instant }

  /// Bytes per second.
  var rate: Double {
    let seconds = span / .seconds(1)
    return seconds > 0 ? Double(last.position - older.position) / seconds : 0
  }
}

/// The known speeds of connections, to estimate which segment will end last.
package struct ThroughputEstimate: Sendable, Hashable {
  /// Bytes per second of the segments that were measured for long enough.
  package var rates: [SegmentID: Double]
  /// The throughput of one connection, if several were measured at once.
  package var medianRate: Double?
  /// The time from requesting a connection to its first bytes, in seconds.
  package var latency: Double

  package init(rates: [SegmentID: Double] = [:], medianRate: Double? = nil, latency: Double = 0) {
    self.rates = rates
    self.medianRate = medianRate
    self.latency = latency
  }

  /// Seconds until that many bytes of a segment have come; in an arbitrary unit while no speed is
  /// known.
  func seconds(_ bytes: Int64, of id: SegmentID) -> Double {
    Double(bytes) / max(rates[id] ?? medianRate ?? 1, 1)
  }
}
