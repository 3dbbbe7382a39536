extension TransferRequest {
  /// How much of the slots, and of a shared rate limit, a transfer gets.
  ///
  /// A higher priority is more likely to go first; a lower one always makes progress.
  public enum Priority: Int, CaseIterable, Comparable, Codable, Sendable {
    case background, utility, `default`, userInitiated, userInteractive

    /// The share: twice that of the next lower priority.
    package var weight: Int { 1 << rawValue }

    /// Whether the left one has the smaller share.
    public static func < (left: Priority, right: Priority) -> Bool {
      left.rawValue < right.rawValue
    }
  }
}
