package import NIOCore

/// Paces bytes against a monotonic clock: a piece is due when the time of the earlier pieces is
/// over.
package struct Pacer: Sendable {
  /// So many bytes per so many nanoseconds.
  package struct Pace: Hashable, Sendable {
    package var bytes: Int
    package var nanoseconds: Int64

    /// Pieces of about 20 ms, at most 256 KiB.
    package static func rate(_ bytesPerSecond: Int64) -> Pace {
      let rate = max(1, bytesPerSecond)
      let bytes = min(max(1, rate / 50), 256 * 1024)
      return Pace(bytes: Int(bytes), nanoseconds: bytes * 1_000_000_000 / rate)
    }
  }

  package enum Turn: Hashable, Sendable {
    case write(Int)
    case wait(NIODeadline)
  }

  private let pace: Pace
  private var due: NIODeadline
  private var left = 0
  /// After a longer delay the lost time is forgotten; otherwise a stall would end in a burst.
  private static let maximumLateness = TimeAmount.milliseconds(100)

  package init(_ pace: Pace, now: NIODeadline) {
    self.pace = pace
    due = now
  }

  /// How many bytes may be written now, or when to ask again.
  package mutating func turn(_ now: NIODeadline) -> Turn {
    if left > 0 { return .write(left) }
    guard due <= now else { return .wait(due) }
    if now - due > Self.maximumLateness { due = now - Self.maximumLateness }
    due = due + .nanoseconds(pace.nanoseconds)
    left = pace.bytes
    return .write(left)
  }

  package mutating func wrote(_ count: Int) {
    left -= count
  }
}
