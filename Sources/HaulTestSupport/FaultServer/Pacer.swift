import NIOCore

/// Paces bytes against a monotonic clock: a piece is due when the time of the pieces before is up.
struct Pacer {
  private let pace: Answer.Pace
  private var due: NIODeadline
  private var left: Int
  /// A pacer late by more than this forgets the rest, or a stall would end in a burst.
  private static let patience = TimeAmount.milliseconds(100)

  init(_ pace: Answer.Pace, now: NIODeadline) {
    self.pace = pace
    due = now
    left = 0
  }

  enum Turn: Equatable {
    case write(Int)
    case wait(NIODeadline)
  }

  /// How many bytes may be written now, or when to ask again.
  mutating func turn(_ now: NIODeadline) -> Turn {
    if left > 0 { return .write(left) }
    guard due <= now else { return .wait(due) }
    if now - due > Self.patience { due = now - Self.patience }
    due = due + .nanoseconds(pace.nanoseconds)
    left = pace.bytes
    return .write(left)
  }

  mutating func wrote(_ count: Int) {
    left -= count
  }
}
