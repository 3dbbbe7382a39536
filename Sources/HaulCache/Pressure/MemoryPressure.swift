/// What the system says of its memory at one moment.
package struct MemorySample: Hashable, Sendable {
  /// Microseconds in which some task waited for memory, since the start of the system
  /// (`/proc/pressure/memory`).
  package var stalled: UInt64?
  /// How often the memory group reached its limits (`memory.events`: high, max and oom).
  package var limitEvents: UInt64?

  package init(pressure: String?, events: String?) {
    stalled = pressure.flatMap { text in
      text.byteSplit(separator: "\n").first { $0.hasBytePrefix("some ") }?
        .byteSplit(separator: " ").first { $0.hasBytePrefix("total=") }
        .flatMap { UInt64($0.dropFirst(6)) }
    }
    limitEvents = events.map { text in
      text.byteSplit(separator: "\n").reduce(0) { sum, line in
        let words = line.byteSplit(separator: " ")
        guard words.count == 2, ["high", "max", "oom"].contains(words[0]) else { return sum }
        return sum &+ (UInt64(words[1]) ?? 0)
      }
    }
  }
}

/// Decides from samples whether memory is to be freed.
package struct MemoryPressureJudge: Hashable, Sendable {
  package enum Level: Hashable, Sendable { case none, warning, critical }

  private var last: MemorySample?

  package init() {}

  /// Tasks that waited for a tenth of the time mean a warning, for a third or a reached limit more.
  package mutating func handle(_ sample: MemorySample, seconds: Double) -> Level {
    defer { last = sample }
    guard let last, seconds > 0 else { return .none }
    if let now = sample.limitEvents, let before = last.limitEvents, now > before {
      return .critical
    }
    guard let now = sample.stalled, let before = last.stalled, now > before else { return .none }
    let share = Double(now - before) / 1_000_000 / seconds
    return share >= 1.0 / 3 ? .critical : share >= 0.1 ? .warning : .none
  }
}
