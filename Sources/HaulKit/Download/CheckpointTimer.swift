import HaulCore

/// When a strict download takes its checkpoints: every 64 MiB or 5 s, one at a time.
struct CheckpointTimer: Sendable {
  private static let bytes: Int64 = 64 << 20
  private static let interval: Duration = .seconds(5)

  private let isStrict: Bool
  private var last: Instant
  private var isRunning = false

  init(isStrict: Bool, now: Instant) {
    self.isStrict = isStrict
    last = now
  }

  /// Whether to take one now; if so, call `ended` afterwards.
  mutating func begins(dirtyBytes: Int64, at now: Instant) -> Bool {
    guard isStrict, !isRunning, dirtyBytes > 0,
      dirtyBytes >= Self.bytes || now - last >= Self.interval
    else { return false }
    isRunning = true
    return true
  }

  mutating func ended(at now: Instant) {
    isRunning = false
    last = now
  }
}
