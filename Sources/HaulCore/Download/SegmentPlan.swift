/// The part of a download that one connection fetches, in one run.
package struct SegmentID: Hashable, Sendable, Comparable {
  package let number: Int

  package init(number: Int) { self.number = number }

  package static func < (left: SegmentID, right: SegmentID) -> Bool { left.number < right.number }
}

/// Which bytes are on disk, and which connection fetches which of the rest.
///
/// No byte is written twice: a segment reserves bytes before it writes them, and its end may move
/// down. Segments overlap neither each other nor received bytes. Only a straggler's rest may be
/// fetched by a second segment too; each byte then belongs to the first that reserves it.
package struct SegmentPlan: Sendable, Hashable {
  package struct Segment: Sendable, Hashable {
    /// Everything before this is written.
    package fileprivate(set) var written: Int64
    /// The next byte of the body; bytes from `written` to here are being written.
    package fileprivate(set) var next: Int64
    /// Moves down when another connection takes the tail.
    package fileprivate(set) var end: Int64
    /// Whether the body begins at byte 0 and bytes on disk are skipped.
    package fileprivate(set) var skipsReceived = false
    /// Whether it has waited for the reader since the last call of `takeHasWaitedForReader`.
    package fileprivate(set) var hasWaitedForReader = false
    /// Whether another segment fetches the same bytes, or did.
    package fileprivate(set) var isShared = false
    /// Where the body of the answer ends; nil until one has come.
    fileprivate var bodyEnd: Int64?
    /// What a shared segment is writing: its own part of `written..<next`.
    fileprivate var writing: [ByteRange] = []

    package var remaining: Int64 { end - next }
  }

  /// What a segment may do with bytes that have arrived.
  package struct Grant: Sendable, Hashable {
    /// The ranges to write, in order, all within the bytes that have arrived.
    package let pieces: [ByteRange]
    /// How many of the bytes belong to the segment.
    package let used: Int
    /// Whether the segment ends with them.
    package let isLast: Bool

    package init(pieces: [ByteRange], used: Int, isLast: Bool) {
      self.pieces = pieces
      self.used = used
      self.isLast = isLast
    }
  }

  /// The whole length in bytes, once known.
  package private(set) var length: Int64?
  package private(set) var received: ByteRangeSet
  package private(set) var segments: [SegmentID: Segment] = [:]
  /// For a stream, which a reader takes in order; nil for a file, whose bytes may arrive in any
  /// order.
  package private(set) var window: StreamWindow?
  private var lastNumber = 0

  package init(
    length: Int64? = nil, received: ByteRangeSet = ByteRangeSet(), window: StreamWindow? = nil
  ) {
    self.length = length
    self.received = received
    self.window = window
  }

  /// Whether bytes were given to a reader: then nothing can start over.
  package var isCommitted: Bool { window?.isCommitted ?? false }

  /// The bytes that are on disk or on their way to it.
  package var receivedCount: Int64 { received.byteCount }

  package var isComplete: Bool {
    guard let length else { return false }
    return received.covers(0..<length)
  }

  private var whole: ByteRange { 0..<(length ?? .max) }

  /// The bytes that are not on disk and that no segment fetches.
  package var unassigned: ByteRangeSet {
    segments.values.reduce(into: received.gaps(in: whole)) { gaps, segment in
      if segment.written < segment.end { gaps.remove(contentsOf: segment.written..<segment.end) }
    }
  }

  /// Assigns a segment to an idle connection: the first gap; or a part of the segment that is
  /// expected to end last; or, for a straggler, the same rest once more.
  ///
  /// Nil if a split would give either connection less than `minimumSplit` bytes and, by the known
  /// speeds, would not end noticeably earlier; O(segments + ranges).
  package mutating func assign(
    minimumSplit: Int64, throughputEstimate: ThroughputEstimate = ThroughputEstimate()
  ) -> SegmentID? {
    if let window, length != nil { return assign(within: window, minimumSplit: minimumSplit) }
    if let gap = unassigned.ranges.first { return add(gap) }
    guard length != nil, let victim = last(by: throughputEstimate) else { return nil }
    return split(victim, minimumSplit: minimumSplit, throughputEstimate)
      ?? race(victim, throughputEstimate)
  }

  /// The segment that is expected to end last, of those that can be shared.
  private func last(by throughputEstimate: ThroughputEstimate) -> SegmentID? {
    segments.filter { !$0.value.skipsReceived && !$0.value.isShared && $0.value.remaining > 0 }
      .map { (id: $0.key, seconds: throughputEstimate.seconds($0.value.remaining, of: $0.key)) }
      .max { ($0.seconds, $1.id) < ($1.seconds, $0.id) }?.id
  }

  /// Gives the tail of a segment to a new one: half of it, or more if the new one is expected to be
  /// faster.
  private mutating func split(
    _ victim: SegmentID, minimumSplit: Int64, _ throughputEstimate: ThroughputEstimate
  ) -> SegmentID? {
    guard let segment = segments[victim] else { return nil }
    var kept = (segment.remaining + 1) / 2
    if let rate = throughputEstimate.rates[victim], let medianRate = throughputEstimate.medianRate,
      medianRate > 0
    {
      // A silent connection keeps little enough to be fetched again at the end.
      kept = max(
        Int64(Double(segment.remaining) * rate / (rate + medianRate)), min(kept, Self.minimumPiece))
    }
    let taken = segment.remaining - kept
    guard
      taken >= max(minimumSplit, 1)
        || isSmallerSplitWorthIt(victim, taken: taken, throughputEstimate)
    else {
      return nil
    }
    let middle = segment.next + kept
    segments[victim]?.end = middle
    return add(middle..<segment.end)
  }

  /// Whether a smaller part than usual is useful, because the download would wait for this segment:
  /// its connection is as fast as others, and several have worked before.
  private func isSmallerSplitWorthIt(
    _ victim: SegmentID, taken: Int64, _ throughputEstimate: ThroughputEstimate
  ) -> Bool {
    guard let segment = segments[victim], let rate = throughputEstimate.rates[victim],
      let medianRate = throughputEstimate.medianRate, rate > medianRate / Self.straggler,
      taken >= Self.minimumPiece
    else { return false }
    return throughputEstimate.seconds(segment.remaining, of: victim)
      >= max(0.1, 4 * throughputEstimate.latency)
  }

  /// Fetches a straggler's rest once more, if that is expected to be faster.
  private mutating func race(_ straggler: SegmentID, _ throughputEstimate: ThroughputEstimate)
    -> SegmentID?
  {
    guard let segment = segments[straggler], throughputEstimate.rates[straggler] != nil,
      let medianRate = throughputEstimate.medianRate, medianRate > 0
    else { return nil }
    let again = throughputEstimate.latency + Double(segment.remaining) / medianRate
    guard throughputEstimate.seconds(segment.remaining, of: straggler) >= 2 * again + 0.1 else {
      return nil
    }
    segments[straggler]?.isShared = true
    if segment.written < segment.next {
      segments[straggler]?.writing = [segment.written..<segment.next]
    }
    let id = add(segment.next..<segment.end)
    segments[id]?.isShared = true
    return id
  }

  /// A connection this many times slower than others is a straggler.
  private static let straggler = 4.0
  /// The smallest part that a split gives to another connection.
  private static let minimumPiece: Int64 = 64 << 10

  private mutating func add(_ range: ByteRange) -> SegmentID {
    lastNumber += 1
    let id = SegmentID(number: lastNumber)
    segments[id] = Segment(written: range.lowerBound, next: range.lowerBound, end: range.upperBound)
    return id
  }

  /// Turns the only segment into one whose body begins at byte 0, whatever it requested.
  package mutating func receiveWholeBody(_ id: SegmentID) {
    segments[id] = Segment(written: 0, next: 0, end: whole.upperBound, skipsReceived: true)
  }

  /// Notes that an answer with the bytes of the segment has come.
  /// - Parameter end: where its body ends; nil if it does not say so.
  package mutating func noteAnswer(_ id: SegmentID, upTo end: Int64?) {
    change(id) { $0.bodyEnd = end ?? .max }
  }

  /// A segment without bytes, for a request about the resource.
  package mutating func assignNothing() -> SegmentID { add(0..<0) }

  /// Before a segment ends, it takes back the tail that it gave away, if its body has the tail and
  /// no answer for it has come: perhaps none ever comes.
  private mutating func takeBackUnanswered(_ id: SegmentID, count: Int) {
    while let segment = segments[id], Int64(count) >= segment.remaining,
      let bodyEnd = segment.bodyEnd, bodyEnd > segment.end, !segment.isShared,
      !segment.skipsReceived,
      let (other, tail) = segments.first(where: {
        $0.value.written == segment.end && $0.value.remaining > 0 && $0.value.bodyEnd == nil
          && !$0.value.isShared
      })
    {
      segments[other] = nil
      segments[id]?.end = tail.end
    }
  }

  /// Reserves received bytes of a segment before they are written.
  package mutating func reserve(_ id: SegmentID, count: Int) -> Grant {
    takeBackUnanswered(id, count: count)
    guard let segment = segments[id] else { return Grant(pieces: [], used: 0, isLast: true) }
    let used = min(Int64(count), segment.remaining)
    let range = segment.next..<(segment.next + used)
    change(id) { $0.next = range.upperBound }
    if segment.isShared { return reserveShared(id, range) }
    let pieces =
      segment.skipsReceived ? Array(received.gaps(in: range).ranges) : range.isEmpty ? [] : [range]
    return Grant(pieces: pieces, used: Int(used), isLast: range.upperBound == segment.end)
  }

  /// Reserves bytes that no other segment has reserved; `isLast` is set when none remain after
  /// them.
  private mutating func reserveShared(_ id: SegmentID, _ range: ByteRange) -> Grant {
    guard let segment = segments[id] else { return Grant(pieces: [], used: 0, isLast: true) }
    var taken = received
    for (other, its) in segments where other != id {
      for piece in its.writing { taken.insert(contentsOf: piece) }
    }
    let pieces = Array(taken.gaps(in: range).ranges)
    segments[id]?.writing += pieces
    return Grant(
      pieces: pieces, used: Int(range.length),
      isLast: taken.covers(range.upperBound..<segment.end))
  }

  /// Notes that everything reserved so far was written.
  package mutating func noteWritten(_ id: SegmentID) {
    guard let segment = segments[id], segment.written < segment.next else { return }
    if segment.isShared {
      for piece in segment.writing { received.insert(contentsOf: piece) }
      segments[id]?.writing = []
    } else {
      received.insert(contentsOf: segment.written..<segment.next)
    }
    change(id) { $0.written = segment.next }
  }

  /// In place, without moving the value out of the dictionary.
  private mutating func change(_ id: SegmentID, _ body: (inout Segment) -> Void) {
    if let index = segments.index(forKey: id) { body(&segments.values[index]) }
  }

  /// Gives the rest of the segment back. If it has no bytes yet, the segment that it was split from
  /// gets them back, if that one still runs: its body has them, or ends before them. Otherwise the
  /// next segment gets them.
  package mutating func release(_ id: SegmentID) {
    guard let released = segments.removeValue(forKey: id), !released.skipsReceived,
      !released.isShared, released.remaining > 0,
      let before = segments.first(where: {
        $0.value.end == released.written && $0.value.remaining > 0 && !$0.value.skipsReceived
          && !$0.value.isShared
      })?.key
    else { return }
    segments[before]?.end = released.end
  }

  /// Shared segments with nothing left to fetch: the other one was faster.
  package var redundantSegments: [SegmentID] {
    segments.filter { $0.value.isShared && received.covers($0.value.next..<$0.value.end) }
      .keys.sorted()
  }

  /// Sets the length: from the first response, or from the end of a body without one.
  package mutating func learn(length: Int64) {
    self.length = length
    let open = segments.keys.filter { segments[$0]?.end == .max }
    for id in open { change(id) { $0.end = length } }
  }

  /// Forgets all bytes: another version of the resource begins.
  package mutating func startOver(length: Int64?) {
    let number = lastNumber
    self = SegmentPlan(length: length, window: window?.nextGeneration)
    lastNumber = number
  }
}

/// Streams, which a reader takes in order.
extension SegmentPlan {
  /// The next piece that the reader will need, at most one window ahead of it.
  private mutating func assign(
    within window: StreamWindow, minimumSplit: Int64
  ) -> SegmentID? {
    let piece = max(window.piece, minimumSplit, 1)
    if let gap = unassigned.ranges.first {
      guard gap.lowerBound < window.end else { return nil }
      return add(gap.lowerBound..<min(gap.upperBound, gap.lowerBound.adding(piece)))
    }
    // One connection has all of the rest: it keeps the part that the reader needs first.
    guard let victim = segments.max(by: { $0.value.end < $1.value.end }),
      !victim.value.skipsReceived, victim.value.remaining >= 2 * max(minimumSplit, 1)
    else { return nil }
    let segment = victim.value
    let middle = segment.next + min(piece, (segment.remaining + 1) / 2)
    guard middle < window.end else { return nil }
    segments[victim.key]?.end = middle
    return add(middle..<min(segment.end, middle.adding(piece)))
  }

  /// Notes that the reader is done with everything before `position`.
  package mutating func noteRead(upTo position: Int64) { window?.position = position }

  /// Commits to a version before the reader gets its bytes; false if that version was discarded.
  package mutating func commitToReader(generation: Int) -> Bool {
    guard let window, window.generation == generation else { return false }
    self.window?.isCommitted = true
    return true
  }

  /// Notes that a segment waits for the reader, so that its slowness is not the server's.
  package mutating func noteWaitForReader(_ id: SegmentID) {
    segments[id]?.hasWaitedForReader = true
  }

  /// Whether the segment has waited since the last call.
  package mutating func takeHasWaitedForReader(_ id: SegmentID) -> Bool {
    defer { segments[id]?.hasWaitedForReader = false }
    return segments[id]?.hasWaitedForReader ?? false
  }
}

extension Int64 {
  fileprivate func adding(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
