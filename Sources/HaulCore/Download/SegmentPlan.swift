/// One connection's piece of work in one run.
package struct SegmentID: Hashable, Sendable, Comparable {
  package let number: Int

  package init(number: Int) { self.number = number }

  package static func < (left: SegmentID, right: SegmentID) -> Bool { left.number < right.number }
}

/// Which bytes are there, and which connection fetches which of the rest.
///
/// No byte is written twice: a segment asks before it writes, and its end may have moved down since
/// it began. Segments never overlap each other or what is received, but for a straggler's rest,
/// which a second one may fetch as well: there the first to ask for a byte has it.
package struct SegmentPlan: Sendable, Hashable {
  package struct Segment: Sendable, Hashable {
    /// Everything before this is written.
    package fileprivate(set) var written: Int64
    /// The next byte of the body; bytes from `written` to here are being written.
    package fileprivate(set) var next: Int64
    /// Moves down when another connection takes the tail.
    package fileprivate(set) var end: Int64
    /// Whether the body begins at byte 0 and bytes that are there already are skipped.
    package fileprivate(set) var skipsReceived = false
    /// Whether it waited for the reader since it was last asked about.
    package fileprivate(set) var wasHeldBack = false
    /// Whether another segment fetches the same bytes, or did.
    package fileprivate(set) var isShared = false
    /// What a shared one is writing: its own part of `written..<next`.
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
  /// For bytes that a reader takes in order; nil for a file, where they may arrive in any.
  package private(set) var window: StreamWindow?
  private var lastNumber = 0

  package init(
    length: Int64? = nil, received: ByteRangeSet = ByteRangeSet(), window: StreamWindow? = nil
  ) {
    self.length = length
    self.received = received
    self.window = window
  }

  /// Whether bytes were given to a reader: nothing can be begun again then.
  package var isCommitted: Bool { window?.isCommitted ?? false }

  /// The bytes that are on their way to the disk or there.
  package var receivedCount: Int64 { received.byteCount }

  package var isComplete: Bool {
    guard let length else { return false }
    return received.covers(0..<length)
  }

  private var whole: ByteRange { 0..<(length ?? .max) }

  /// The bytes that nobody has and nobody fetches.
  package var unassigned: ByteRangeSet {
    segments.values.reduce(into: received.gaps(in: whole)) { gaps, segment in
      if segment.written < segment.end { gaps.remove(contentsOf: segment.written..<segment.end) }
    }
  }

  /// A segment for an idle connection: the first gap; else a part of the rest that is expected to
  /// end last, so that both end together; else, where that one is a straggler, the same rest once
  /// more.
  ///
  /// Nil when nothing is left that is worth `minimumSplit` bytes to each of two connections, or,
  /// where their speed is known, that they would end noticeably earlier with; O(segments + ranges).
  package mutating func assign(
    minimumSplit: Int64, outlook: SegmentOutlook = SegmentOutlook()
  ) -> SegmentID? {
    if let window, let length { return assign(within: window, length, minimumSplit: minimumSplit) }
    if let gap = unassigned.ranges.first { return add(gap) }
    guard length != nil, let victim = last(by: outlook) else { return nil }
    return split(victim, minimumSplit: minimumSplit, outlook) ?? race(victim, outlook)
  }

  /// The segment that is expected to end last, of those that can be shared with another.
  private func last(by outlook: SegmentOutlook) -> SegmentID? {
    segments.filter { !$0.value.skipsReceived && !$0.value.isShared && $0.value.remaining > 0 }
      .map { (id: $0.key, seconds: outlook.seconds($0.value.remaining, of: $0.key)) }
      .max { ($0.seconds, $1.id) < ($1.seconds, $0.id) }?.id
  }

  /// Gives the tail of a segment to a new one: half of it, or as much more as the new one is likely
  /// to be faster.
  private mutating func split(
    _ victim: SegmentID, minimumSplit: Int64, _ outlook: SegmentOutlook
  ) -> SegmentID? {
    guard let segment = segments[victim] else { return nil }
    var kept = (segment.remaining + 1) / 2
    if let rate = outlook.rates[victim], let typical = outlook.typical, typical > 0 {
      // What a silent one keeps is little enough to be fetched once more in the end.
      kept = max(
        Int64(Double(segment.remaining) * rate / (rate + typical)), min(kept, Self.leastPiece))
    }
    let taken = segment.remaining - kept
    guard taken >= max(minimumSplit, 1) || isWorthLess(victim, taken: taken, outlook) else {
      return nil
    }
    let middle = segment.next + kept
    segments[victim]?.end = middle
    return add(middle..<segment.end)
  }

  /// Whether a smaller piece than usual is worth it, as the download would wait for this segment:
  /// its connection is as fast as others, and several have been at work before.
  private func isWorthLess(
    _ victim: SegmentID, taken: Int64, _ outlook: SegmentOutlook
  ) -> Bool {
    guard let segment = segments[victim], let rate = outlook.rates[victim],
      let typical = outlook.typical, rate > typical / Self.straggler, taken >= Self.leastPiece
    else { return false }
    return outlook.seconds(segment.remaining, of: victim) >= max(0.1, 4 * outlook.latency)
  }

  /// Fetches the rest of a straggler once more, when that is likely to be there sooner.
  private mutating func race(_ straggler: SegmentID, _ outlook: SegmentOutlook) -> SegmentID? {
    guard let segment = segments[straggler], outlook.rates[straggler] != nil,
      let typical = outlook.typical, typical > 0
    else { return nil }
    let again = outlook.latency + Double(segment.remaining) / typical
    guard outlook.seconds(segment.remaining, of: straggler) >= 2 * again + 0.1 else { return nil }
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
  /// The least that is ever given to a connection of its own when a segment is split.
  private static let leastPiece: Int64 = 64 << 10

  private mutating func add(_ range: ByteRange) -> SegmentID {
    lastNumber += 1
    let id = SegmentID(number: lastNumber)
    segments[id] = Segment(written: range.lowerBound, next: range.lowerBound, end: range.upperBound)
    return id
  }

  /// Turns the only segment into one whose body begins at byte 0, whatever it had asked for.
  package mutating func streamWhole(_ id: SegmentID) {
    segments[id] = Segment(written: 0, next: 0, end: whole.upperBound, skipsReceived: true)
  }

  /// Asks before writing `count` bytes that have arrived for the segment.
  package mutating func reserve(_ id: SegmentID, count: Int) -> Grant {
    guard let segment = segments[id] else { return Grant(pieces: [], used: 0, isLast: true) }
    let used = min(Int64(count), segment.remaining)
    let range = segment.next..<(segment.next + used)
    change(id) { $0.next = range.upperBound }
    if segment.isShared { return reserveShared(id, range) }
    let pieces =
      segment.skipsReceived ? Array(received.gaps(in: range).ranges) : range.isEmpty ? [] : [range]
    return Grant(pieces: pieces, used: Int(used), isLast: range.upperBound == segment.end)
  }

  /// What nobody has asked for before; the last bytes are those behind which nothing is left that
  /// nobody has.
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
  package mutating func wrote(_ id: SegmentID) {
    guard let segment = segments[id], segment.written < segment.next else { return }
    if segment.isShared {
      for piece in segment.writing { received.insert(contentsOf: piece) }
      segments[id]?.writing = []
    } else {
      received.insert(contentsOf: segment.written..<segment.next)
    }
    change(id) { $0.written = segment.next }
  }

  /// In its place, without taking the value out of the dictionary.
  private mutating func change(_ id: SegmentID, _ body: (inout Segment) -> Void) {
    if let place = segments.index(forKey: id) { body(&segments.values[place]) }
  }

  /// Gives the rest of the segment back: to the one that it was taken from, when nothing of it came
  /// and that one still goes on (its body has these bytes, or ends before them and leaves them),
  /// else to whoever is next.
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

  /// The shared segments of which nothing is missing any more: the other one was first.
  package var overtaken: [SegmentID] {
    segments.filter { $0.value.isShared && received.covers($0.value.next..<$0.value.end) }
      .keys.sorted()
  }

  /// Learns the length: from the first response, or from the end of a body without one.
  package mutating func learn(length: Int64) {
    self.length = length
    let open = segments.keys.filter { segments[$0]?.end == .max }
    for id in open { change(id) { $0.end = length } }
  }

  /// Forgets every byte: another version of the resource begins.
  package mutating func startOver(length: Int64?) {
    let number = lastNumber
    self = SegmentPlan(length: length, window: window?.begunAgain)
    lastNumber = number
  }
}

/// Bytes that a reader takes in order.
extension SegmentPlan {
  /// The next piece that the reader will want: nobody runs further ahead of it than the window.
  private mutating func assign(
    within window: StreamWindow, _ length: Int64, minimumSplit: Int64
  ) -> SegmentID? {
    let piece = max(window.piece, minimumSplit, 1)
    if let gap = unassigned.ranges.first {
      guard gap.lowerBound < window.end else { return nil }
      return add(gap.lowerBound..<min(gap.upperBound, gap.lowerBound.adding(piece)))
    }
    // All of the rest is one connection's: it keeps what the reader will want first.
    guard let victim = segments.max(by: { $0.value.end < $1.value.end }),
      !victim.value.skipsReceived, victim.value.remaining >= 2 * max(minimumSplit, 1)
    else { return nil }
    let segment = victim.value
    let middle = segment.next + min(piece, (segment.remaining + 1) / 2)
    guard middle < window.end else { return nil }
    segments[victim.key]?.end = middle
    return add(middle..<min(segment.end, middle.adding(piece)))
  }

  /// Notes that the reader has done with everything before `position`.
  package mutating func read(upTo position: Int64) { window?.position = position }

  /// Asks before the reader gets the first bytes of a version, and every time after; false when
  /// that version was given up.
  package mutating func handOut(generation: Int) -> Bool {
    guard let window, window.generation == generation else { return false }
    self.window?.isCommitted = true
    return true
  }

  /// Notes that a segment waits for the reader: its slowness is not the server's.
  package mutating func holdBack(_ id: SegmentID) { segments[id]?.wasHeldBack = true }

  /// Whether it waited since this was last asked.
  package mutating func takeHeldBack(_ id: SegmentID) -> Bool {
    defer { segments[id]?.wasHeldBack = false }
    return segments[id]?.wasHeldBack ?? false
  }
}

extension Int64 {
  fileprivate func adding(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
