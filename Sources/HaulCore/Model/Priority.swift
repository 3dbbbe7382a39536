/// How a transfer stands to the others in the queue.
///
/// A higher one is more likely to go first and gets a larger share, also of a shared rate limit; a lower one is never starved.
public enum Priority: Int, CaseIterable, Comparable, Codable, Sendable {
  /// One share.
  case lowest
  /// Two shares.
  case low
  /// Four shares.
  case normal
  /// Eight shares.
  case high
  /// Sixteen shares.
  case highest

  /// Its share of slots and rate, relative to the others.
  package var weight: Int { 1 << rawValue }

  /// A lower priority is less.
  public static func < (left: Priority, right: Priority) -> Bool { left.rawValue < right.rawValue }
}
